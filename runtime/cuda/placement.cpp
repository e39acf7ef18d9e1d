// SPDX-License-Identifier: MIT
// The CUDA runtime interface: prefetches, advice, and where memory is.
#include "convert.hpp"
#include "error.hpp"

#include "cuda/cuda_runtime_api.h"

using namespace hmmcuda;

cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t count, int dstDevice,
                                 cudaStream_t stream) {
    return forward(hmmMemPrefetchAsync(devPtr, count, location_of(dstDevice), 0, to_hmm(stream)));
}

cudaError_t cudaMemAdvise(const void* devPtr, size_t count, cudaMemoryAdvise advice, int device) {
    return forward(hmmMemAdvise(devPtr, count, to_hmm(advice), location_of(device)));
}

cudaError_t cudaMemAdvise_v2(const void* devPtr, size_t count, cudaMemoryAdvise advice,
                             cudaMemLocation location) {
    const hmmError_t code = hmmMemAdvise(devPtr, count, to_hmm(advice), to_hmm(location));
    return code == hmmErrorInvalidDevice ? record(cudaErrorInvalidValue) : forward(code);
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
