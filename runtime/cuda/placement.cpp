// SPDX-License-Identifier: MIT
// The CUDA runtime interface: prefetches, advice, and where memory is.
#include "convert.hpp"
#include "error.hpp"

#include "cuda/cuda_runtime_api.h"

using namespace hmmcuda;

cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t count, int dstDevice,
                                 cudaStream_t stream) {
    return forward(
        hmmMemPrefetchAsync(devPtr, count, location_of(dstDevice), 0, stream_of(stream)));
}

cudaError_t cudaMemPrefetchAsync_v2(const void* devPtr, size_t count, cudaMemLocation location,
                                    unsigned int flags, cudaStream_t stream) {
    return forward(
        hmmMemPrefetchAsync(devPtr, count, location_of(location), flags, stream_of(stream)));
}

cudaError_t cudaMemAdvise(const void* devPtr, size_t count, cudaMemoryAdvise advice, int device) {
    return forward(hmmMemAdvise(devPtr, count, advice_of(advice), location_of(device)));
}

cudaError_t cudaMemAdvise_v2(const void* devPtr, size_t count, cudaMemoryAdvise advice,
                             cudaMemLocation location) {
    const hmmError_t code = hmmMemAdvise(devPtr, count, advice_of(advice), location_of(location));
    return code == hmmErrorInvalidDevice ? record(cudaErrorInvalidValue) : forward(code);
}

cudaError_t cudaMemPrefetchBatchAsync(void** dptrs, size_t* sizes, size_t count,
                                      cudaMemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                      size_t numPrefetchLocs, unsigned long long flags,
                                      cudaStream_t stream) {
    return forward(hmmMemPrefetchBatchAsync(dptrs, sizes, count, locations_of(prefetchLocs),
                                            prefetchLocIdxs, numPrefetchLocs, flags,
                                            stream_of(stream)));
}

cudaError_t cudaMemDiscardBatchAsync(void** dptrs, size_t* sizes, size_t count,
                                     unsigned long long flags, cudaStream_t stream) {
    return forward(hmmMemDiscardBatchAsync(dptrs, sizes, count, flags, stream_of(stream)));
}

cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void** dptrs, size_t* sizes, size_t count,
                                                cudaMemLocation* prefetchLocs,
                                                size_t* prefetchLocIdxs, size_t numPrefetchLocs,
                                                unsigned long long flags, cudaStream_t stream) {
    return forward(hmmMemDiscardAndPrefetchBatchAsync(dptrs, sizes, count,
                                                      locations_of(prefetchLocs), prefetchLocIdxs,
                                                      numPrefetchLocs, flags, stream_of(stream)));
}

cudaError_t cudaMemRangeGetAttribute(void* data, size_t dataSize, cudaMemRangeAttribute attribute,
                                     const void* devPtr, size_t count) {
    return forward(hmmMemRangeGetAttribute(
        data, dataSize, static_cast<hmmMemRangeAttribute>(attribute), devPtr, count));
}

cudaError_t cudaMemRangeGetAttributes(void** data, size_t* dataSizes,
                                      cudaMemRangeAttribute* attributes, size_t numAttributes,
                                      const void* devPtr, size_t count) {
    return forward(hmmMemRangeGetAttributes(
        data, dataSizes, reinterpret_cast<const hmmMemRangeAttribute*>(attributes), numAttributes,
        devPtr, count));
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
    hmmPointerAttributes found;
    const hmmError_t code = hmmPointerGetAttributes(attributes != nullptr ? &found : nullptr, ptr);
    if (code != hmmSuccess) return forward(code);
    attributes->type = static_cast<cudaMemoryType>(found.type);
    attributes->device = found.device;
    attributes->devicePointer = found.devicePointer;
    attributes->hostPointer = found.hostPointer;
    return cudaSuccess;
}
