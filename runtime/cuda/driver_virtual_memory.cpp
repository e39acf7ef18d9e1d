// SPDX-License-Identifier: MIT
// The CUDA driver interface: memory objects and reserved addresses.
#include "driver.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace hmmcuda {
namespace {

hmmMemAllocationProp prop_of(const CUmemAllocationProp& from) {
    hmmMemAllocationProp prop = {};
    prop.type = static_cast<hmmMemAllocationType>(from.type);
    prop.requestedHandleTypes = static_cast<hmmMemAllocationHandleType>(from.requestedHandleTypes);
    prop.location = location_of(from.location);
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

hmmMemAllocationHandleType handle_type_of(CUmemAllocationHandleType type) {
    return static_cast<hmmMemAllocationHandleType>(type);
}

static_assert(sizeof(hmmMemAccessDesc) == sizeof(CUmemAccessDesc) &&
              offsetof(hmmMemAccessDesc, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(sizeof(hmmMemLocation) == sizeof(CUmemLocation) &&
              offsetof(hmmMemLocation, id) == offsetof(CUmemLocation, id));

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

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    return driver_call([&] { return hmmMemRelease(handle); });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
    return driver_call([&] { return hmmMemRetainAllocationHandle(handle, addr); });
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

CUresult cuMemExportToShareableHandle(void* shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType,
                                      unsigned long long flags) {
    return driver_call([&] {
        return hmmMemExportToShareableHandle(shareableHandle, handle, handle_type_of(handleType),
                                             flags);
    });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                        CUmemAllocationHandleType shHandleType) {
    return driver_call([&] {
        return hmmMemImportFromShareableHandle(handle, osHandle, handle_type_of(shHandleType));
    });
}

CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags) {
    return driver_call([&] { return hmmMemAddressReserve(ptr, size, alignment, addr, flags); });
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
    return driver_call([&] { return hmmMemAddressFree(ptr, size); });
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
    return driver_call([&] { return hmmMemMap(ptr, size, offset, handle, flags); });
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
    return driver_call([&] { return hmmMemUnmap(ptr, size); });
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
    return driver_call([&] {
        return hmmMemSetAccess(ptr, size, reinterpret_cast<const hmmMemAccessDesc*>(desc), count);
    });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) {
    return driver_call([&] {
        return hmmMemGetAccess(flags, reinterpret_cast<const hmmMemLocation*>(location), ptr);
    });
}
