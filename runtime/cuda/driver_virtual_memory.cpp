// SPDX-License-Identifier: MIT
// The CUDA driver interface: memory objects, with converted properties.
#include "driver.hpp"

#include <algorithm>
#include <iterator>

namespace hmmcuda {
namespace {

hmmMemAllocationProp prop_of(const CUmemAllocationProp& from) {
    hmmMemAllocationProp prop = {};
    prop.type = static_cast<hmmMemAllocationType>(from.type);
    prop.requestedHandleTypes = to_hmm(from.requestedHandleTypes);
    prop.location = to_hmm(from.location);
    prop.win32HandleMetaData = from.win32HandleMetaData;
    prop.allocFlags.compressionType = from.allocFlags.compressionType;
    prop.allocFlags.gpuDirectRDMACapable = from.allocFlags.gpuDirectRDMACapable;
    prop.allocFlags.usage = from.allocFlags.usage;
    std::copy(std::begin(from.allocFlags.reserved), std::end(from.allocFlags.reserved),
              prop.allocFlags.reserved);
    return prop;
}

CUmemAllocationProp prop_of(const hmmMemAllocationProp& from) {
    CUmemAllocationProp prop = {};
    prop.type = static_cast<CUmemAllocationType>(from.type);
    prop.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(from.requestedHandleTypes);
    prop.location = {static_cast<CUmemLocationType>(from.location.type), from.location.id};
    prop.allocFlags.compressionType = from.allocFlags.compressionType;
    return prop;
}

/// Calls use(pointer to libhmmrt's properties), or use(NULL).
template <class Use>
CUresult with_prop(const CUmemAllocationProp* from, Use use) {
    if (from == nullptr) return driver_call([&] { return use(nullptr); });
    const hmmMemAllocationProp prop = prop_of(*from);
    return driver_call([&] { return use(&prop); });
}

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags option) {
    return with_prop(prop, [&](const hmmMemAllocationProp* same) {
        return hmmMemGetAllocationGranularity(granularity, same,
                                              static_cast<hmmMemAllocationGranularity>(option));
    });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* prop, unsigned long long flags) {
    return with_prop(prop, [&](const hmmMemAllocationProp* same) {
        return hmmMemCreate(handle, size, same, flags);
    });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                CUmemGenericAllocationHandle handle) {
    if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
    hmmMemAllocationProp found = {};
    const CUresult result =
        driver_call([&] { return hmmMemGetAllocationPropertiesFromHandle(&found, handle); });
    if (result == CUDA_SUCCESS) *prop = prop_of(found);
    return result;
}
