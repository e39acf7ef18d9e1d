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
    props.location = to_hmm(from.location);
    props.maxSize = from.maxSize;
    // libhmmrt rejects values other than 0
    static_assert(sizeof(props.reserved) >= sizeof(from.reserved));
    std::copy(std::begin(from.reserved), std::end(from.reserved), props.reserved);
    return props;
}

/// Fails if @pool doesn't exist.
hmmError_t check_pool(cudaMemPool_t pool) {
    uint64_t bytes = 0;
    return hmmMemPoolGetAttribute(to_hmm(pool), hmmMemPoolAttrReservedMemCurrent, &bytes);
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

cudaError_t cudaMemPoolCreate(cudaMemPool_t* memPool, const cudaMemPoolProps* poolProps) {
    if (poolProps == nullptr) return record(cudaErrorInvalidValue);
    if (poolProps->usage != 0) return record(cudaErrorNotSupported);
    const hmmMemPoolProps props = props_of(*poolProps);
    const cudaError_t error = forward(hmmMemPoolCreate(to_hmm(memPool), &props));
    // CUDA treats an invalid device in a struct as an invalid value
    return error == cudaErrorInvalidDevice ? record(cudaErrorInvalidValue) : error;
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
