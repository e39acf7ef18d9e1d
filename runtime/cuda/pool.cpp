// SPDX-License-Identifier: MIT
// The CUDA runtime interface: stream-ordered allocation.
#include "convert.hpp"
#include "error.hpp"

#include "cuda/cuda_runtime_api.h"

#include <algorithm>
#include <iterator>

namespace hmmcuda {
namespace {

hmmMemPoolProps props_of(const cudaMemPoolProps& from) {
    hmmMemPoolProps props = {};
    props.allocType = static_cast<hmmMemAllocationType>(from.allocType);
    props.handleTypes = static_cast<hmmMemAllocationHandleType>(from.handleTypes);
    props.location = location_of(from.location);
    props.maxSize = from.maxSize;
    // libhmmrt rejects values other than 0
    static_assert(sizeof(props.reserved) >= sizeof(from.reserved));
    std::copy(std::begin(from.reserved), std::end(from.reserved), props.reserved);
    return props;
}

/// Fails if @pool doesn't exist.
hmmError_t check_pool(cudaMemPool_t pool) {
    uint64_t bytes = 0;
    return hmmMemPoolGetAttribute(pool_of(pool), hmmMemPoolAttrReservedMemCurrent, &bytes);
}

/// All devices can access the memory of all pools, and this can't be changed.
cudaError_t check_access(const cudaMemAccessDesc& wanted) {
    if (wanted.location.type != cudaMemLocationTypeDevice) return record(cudaErrorInvalidValue);
    int lanes = 0;
    const hmmError_t code =
        hmmDeviceGetAttribute(&lanes, hmmDevAttrMultiProcessorCount, wanted.location.id);
    if (code != hmmSuccess) return forward(code);
    switch (wanted.flags) {
    case cudaMemAccessFlagsProtReadWrite:
        return cudaSuccess;
    case cudaMemAccessFlagsProtNone:
    case cudaMemAccessFlagsProtRead:
        return record(cudaErrorNotSupported);
    }
    return record(cudaErrorInvalidValue);
}

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

cudaError_t cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream) {
    return forward(hmmMallocAsync(devPtr, size, stream_of(hStream)));
}

cudaError_t cudaFreeAsync(void* devPtr, cudaStream_t hStream) {
    return forward(hmmFreeAsync(devPtr, stream_of(hStream)));
}

cudaError_t cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool,
                                    cudaStream_t stream) {
    return forward(hmmMallocFromPoolAsync(ptr, size, pool_of(memPool), stream_of(stream)));
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* memPool, const cudaMemPoolProps* poolProps) {
    if (poolProps == nullptr) return record(cudaErrorInvalidValue);
    if (poolProps->usage != 0) return record(cudaErrorNotSupported);
    const hmmMemPoolProps props = props_of(*poolProps);
    const cudaError_t error = forward(give<hmmMemPool_t>(
        memPool, [&](hmmMemPool_t* made) { return hmmMemPoolCreate(made, &props); }));
    // CUDA treats an invalid device in a struct as an invalid value
    return error == cudaErrorInvalidDevice ? record(cudaErrorInvalidValue) : error;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t memPool) {
    return forward(hmmMemPoolDestroy(pool_of(memPool)));
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep) {
    return forward(hmmMemPoolTrimTo(pool_of(memPool), minBytesToKeep));
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) {
    return forward(
        hmmMemPoolGetAttribute(pool_of(memPool), static_cast<hmmMemPoolAttr>(attr), value));
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t memPool, cudaMemPoolAttr attr, void* value) {
    return forward(
        hmmMemPoolSetAttribute(pool_of(memPool), static_cast<hmmMemPoolAttr>(attr), value));
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t memPool, const cudaMemAccessDesc* descList,
                                 size_t count) {
    const hmmError_t code = check_pool(memPool);
    if (code != hmmSuccess) return forward(code);
    if (descList == nullptr && count > 0) return record(cudaErrorInvalidValue);
    for (size_t i = 0; i < count; i++) {
        const cudaError_t error = check_access(descList[i]);
        if (error != cudaSuccess) return error;
    }
    return cudaSuccess;
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t memPool,
                                 cudaMemLocation* location) {
    if (flags == nullptr || location == nullptr) return record(cudaErrorInvalidValue);
    const hmmError_t code = check_pool(memPool);
    if (code != hmmSuccess) return forward(code);
    const cudaError_t error = check_access({*location, cudaMemAccessFlagsProtReadWrite});
    if (error == cudaSuccess) *flags = cudaMemAccessFlagsProtReadWrite;
    return error;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* memPool, int device) {
    return forward(give<hmmMemPool_t>(
        memPool, [&](hmmMemPool_t* pool) { return hmmDeviceGetDefaultMemPool(pool, device); }));
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* memPool, int device) {
    return forward(give<hmmMemPool_t>(
        memPool, [&](hmmMemPool_t* pool) { return hmmDeviceGetMemPool(pool, device); }));
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t memPool) {
    return forward(hmmDeviceSetMemPool(device, pool_of(memPool)));
}
