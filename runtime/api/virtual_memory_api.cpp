// SPDX-License-Identifier: MIT
// The C interface: memory objects, reserved ranges, and access to mappings.
#include "memory/virtual_memory.hpp"

#include "api/interface.hpp"
#include "api/location.hpp"
#include "api/object_creation.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace hmmrt {
namespace {

static_assert(hmmMemAccessFlagsProtRead == HMMRT_ACCESS_READ);
static_assert(hmmMemAccessFlagsProtReadWrite == (HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE));

/// Throws failure if there are no devices.
virtual_memory& all_reserved() {
    process::get().devices();
    return process::get().reserved();
}

void check_multiple(std::uint64_t value, const char* what) {
    require(value % object_granularity == 0, what);
}

address_range checked_range(hmmDeviceptr ptr, std::size_t bytes) {
    require(bytes > 0, "the size is 0");
    check_multiple(bytes, "the size is not a multiple of the granularity");
    check_multiple(ptr, "the address is not a multiple of the granularity");
    require(ptr + bytes > ptr && ptr + bytes <= user_space_end,
            "the range exceeds the address space");
    return {ptr, bytes};
}

void check_option(unsigned option) {
    require(option == hmmMemAllocationGranularityMinimum ||
                option == hmmMemAllocationGranularityRecommended,
            "unknown option");
}

std::uint64_t create(std::size_t bytes, const hmmMemAllocationProp* properties) {
    virtual_memory& all = all_reserved();
    const hmmMemAllocationProp wanted = checked(properties);
    require(bytes > 0, "the size is 0");
    check_multiple(bytes, "the size is not a multiple of the granularity");
    return all.add(create_object(bytes, wanted));
}

void check_handle_type(hmmMemAllocationHandleType type) {
    if (type == hmmMemHandleTypePosixFileDescriptor) return;
    const bool known = type == hmmMemHandleTypeWin32 || type == hmmMemHandleTypeWin32Kmt ||
                       type == hmmMemHandleTypeFabric;
    throw failure(known ? hmmErrorNotSupported : hmmErrorInvalidValue,
                  "memory objects can only be exported as file descriptors");
}

int export_descriptor(std::uint64_t handle, hmmMemAllocationHandleType type) {
    virtual_memory& all = all_reserved();
    const hmmMemAllocationProp properties = all.properties_of(handle);
    check_handle_type(type);
    require((properties.requestedHandleTypes & type) != 0,
            "the memory object was created without this handle type");
    return all.export_file(handle);
}

std::uint64_t import_descriptor(const void* descriptor, hmmMemAllocationHandleType type) {
    check_handle_type(type);
    virtual_memory& all = all_reserved();
    return all.add(import_object(static_cast<int>(reinterpret_cast<std::intptr_t>(descriptor))));
}

std::uint64_t reserve(std::size_t bytes, std::size_t alignment, hmmDeviceptr hint) {
    require(bytes > 0, "the size is 0");
    check_multiple(bytes, "the size is not a multiple of the granularity");
    require(alignment == 0 || std::has_single_bit(alignment),
            "the alignment is not a power of two");
    return all_reserved().reserve(bytes, std::max<std::uint64_t>(alignment, object_granularity),
                                  hint);
}

/// The kernel's id of a location for access. All nodes count as the host.
std::uint32_t accessing(const hmmMemLocation& where) {
    switch (where.type) {
    case hmmMemLocationTypeDevice:
        return process::get().device_at(where.id).id();
    case hmmMemLocationTypeHost:
    case hmmMemLocationTypeHostNuma:
    case hmmMemLocationTypeHostNumaCurrent:
        return HMMRT_LOCATION_HOST;
    case hmmMemLocationTypeInvalid:
        break;
    }
    throw failure(hmmErrorInvalidValue, "unknown location type");
}

bool is_access(hmmMemAccessFlags flags) {
    return flags == hmmMemAccessFlagsProtNone || flags == hmmMemAccessFlagsProtRead ||
           flags == hmmMemAccessFlagsProtReadWrite;
}

/// Returns the last change of each location. Doesn't start devices.
std::vector<access_change> changes_of(const hmmMemAccessDesc* descriptions, std::size_t count) {
    std::vector<access_change> changes;
    require(descriptions != nullptr && count > 0, "desc is NULL, or count is 0");
    for (std::size_t i = 0; i < count; i++) {
        require(is_access(descriptions[i].flags), "unknown access flags");
        const std::uint32_t location = accessing(descriptions[i].location);
        std::erase_if(changes,
                      [=](const access_change& each) { return each.location == location; });
        changes.push_back({location, descriptions[i].flags});
    }
    return changes;
}

void start_devices(const hmmMemAccessDesc* descriptions, std::size_t count) {
    for (std::size_t i = 0; i < count; i++)
        if (descriptions[i].location.type == hmmMemLocationTypeDevice)
            process::get().device_at(descriptions[i].location.id).start();
}

address_range address_range_of(hmmDeviceptr ptr) {
    if (const auto mapped = all_reserved().find(ptr)) return mapped->mapping;
    const void* const address = reinterpret_cast<const void*>(ptr);
    if (const auto variable = process::get().variables().find(address))
        return {variable->begin, variable->bytes};
    if (const auto ends = process::get().registered().ends_of(address))
        return {ends->first, ends->second - ends->first};
    const auto given = process::get().managed().find(address);
    if (!given) throw failure(hmmErrorSymbolNotFound, "nothing is mapped or allocated there");
    return {given->begin, given->bytes};
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmMemGetAllocationGranularity(size_t* granularity, const hmmMemAllocationProp* prop,
                                          hmmMemAllocationGranularity option) {
    return guarded("hmmMemGetAllocationGranularity", [&] {
        require(granularity != nullptr, "granularity is NULL");
        check_option(number_of(option));
        all_reserved();
        checked(prop);
        *granularity = object_granularity;
    });
}

hmmError_t hmmMemCreate(hmmMemGenericAllocationHandle* handle, size_t size,
                        const hmmMemAllocationProp* prop, unsigned long long flags) {
    return guarded("hmmMemCreate", [&] {
        require(handle != nullptr, "handle is NULL");
        require(flags == 0, "flags are not 0");
        *handle = create(size, prop);
    });
}

hmmError_t hmmMemRelease(hmmMemGenericAllocationHandle handle) {
    return guarded("hmmMemRelease", [&] { all_reserved().release(handle); });
}

hmmError_t hmmMemRetainAllocationHandle(hmmMemGenericAllocationHandle* handle, void* addr) {
    return guarded("hmmMemRetainAllocationHandle", [&] {
        require(handle != nullptr, "handle is NULL");
        *handle = all_reserved().retain(reinterpret_cast<std::uint64_t>(addr));
    });
}

hmmError_t hmmMemGetAllocationPropertiesFromHandle(hmmMemAllocationProp* prop,
                                                   hmmMemGenericAllocationHandle handle) {
    return guarded("hmmMemGetAllocationPropertiesFromHandle", [&] {
        require(prop != nullptr, "prop is NULL");
        *prop = all_reserved().properties_of(handle);
    });
}

hmmError_t hmmMemExportToShareableHandle(void* shareableHandle,
                                         hmmMemGenericAllocationHandle handle,
                                         hmmMemAllocationHandleType handleType,
                                         unsigned long long flags) {
    return guarded("hmmMemExportToShareableHandle", [&] {
        require(shareableHandle != nullptr, "shareableHandle is NULL");
        require(flags == 0, "flags are not 0");
        *static_cast<int*>(shareableHandle) = export_descriptor(handle, handleType);
    });
}

hmmError_t hmmMemImportFromShareableHandle(hmmMemGenericAllocationHandle* handle, void* osHandle,
                                           hmmMemAllocationHandleType shHandleType) {
    return guarded("hmmMemImportFromShareableHandle", [&] {
        require(handle != nullptr, "handle is NULL");
        *handle = import_descriptor(osHandle, shHandleType);
    });
}

hmmError_t hmmMemAddressReserve(hmmDeviceptr* ptr, size_t size, size_t alignment, hmmDeviceptr addr,
                                unsigned long long flags) {
    return guarded("hmmMemAddressReserve", [&] {
        require(ptr != nullptr, "ptr is NULL");
        require(flags == 0, "flags are not 0");
        *ptr = reserve(size, alignment, addr);
    });
}

hmmError_t hmmMemAddressFree(hmmDeviceptr ptr, size_t size) {
    return guarded("hmmMemAddressFree",
                   [&] { all_reserved().unreserve(checked_range(ptr, size)); });
}

hmmError_t hmmMemMap(hmmDeviceptr ptr, size_t size, size_t offset,
                     hmmMemGenericAllocationHandle handle, unsigned long long flags) {
    return guarded("hmmMemMap", [&] {
        require(flags == 0, "flags are not 0");
        check_multiple(offset, "the offset is not a multiple of the granularity");
        all_reserved().map(checked_range(ptr, size), handle, offset);
    });
}

hmmError_t hmmMemUnmap(hmmDeviceptr ptr, size_t size) {
    return guarded("hmmMemUnmap", [&] { all_reserved().unmap(checked_range(ptr, size)); });
}

hmmError_t hmmMemSetAccess(hmmDeviceptr ptr, size_t size, const hmmMemAccessDesc* desc,
                           size_t count) {
    return guarded("hmmMemSetAccess", [&] {
        const address_range of = checked_range(ptr, size);
        virtual_memory& all = all_reserved();
        const std::vector<access_change> changes = changes_of(desc, count);
        start_devices(desc, count);
        all.set_access(of, changes);
    });
}

hmmError_t hmmMemGetAccess(unsigned long long* flags, const hmmMemLocation* location,
                           hmmDeviceptr ptr) {
    return guarded("hmmMemGetAccess", [&] {
        require(flags != nullptr && location != nullptr, "flags or location is NULL");
        const auto mapped = all_reserved().find(ptr);
        const std::uint32_t where = accessing(*location);
        require(mapped.has_value(), "no memory object is mapped there");
        *flags = mapped->rights.of(where);
    });
}

hmmError_t hmmMemGetAddressRange(hmmDeviceptr* base, size_t* size, hmmDeviceptr ptr) {
    return guarded("hmmMemGetAddressRange", [&] {
        const address_range found = address_range_of(ptr);
        if (base != nullptr) *base = found.begin;
        if (size != nullptr) *size = found.bytes;
    });
}
