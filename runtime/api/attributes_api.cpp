// SPDX-License-Identifier: MIT
// The C interface: attributes of ranges and of pointers.
#include "api/interface.hpp"
#include "api/location.hpp"
#include "base/failure.hpp"
#include "base/memory_range.hpp"

#include <cerrno>
#include <cstring>
#include <optional>
#include <span>

namespace hmmrt {
namespace {

void check_attribute(const void* data, std::size_t size, hmmMemRangeAttribute attribute) {
    require(data != nullptr, "data is NULL");
    require(attribute >= hmmMemRangeAttributeReadMostly &&
                attribute <= hmmMemRangeAttributeLastPrefetchLocationId,
            "unknown attribute");
    const bool list = attribute == hmmMemRangeAttributeAccessedBy;
    require(list ? size > 0 && size % sizeof(int) == 0 : size == sizeof(int),
            list ? "the size is not a positive multiple of 4" : "the size is not 4");
}

hmmrt_range_attributes query_kernel(std::uint64_t begin, std::uint64_t end) {
    hmmrt_range_attributes request = {};
    request.addr = begin;
    request.len = end - begin;
    check_memory_call("attributes", process::get().where().get_range_attributes(request));
    return request;
}

/// The last requested prefetch, if it is the same for all parts.
std::uint32_t last_prefetch_of(std::span<const requested_prefetch> parts) {
    std::optional<std::uint32_t> common;
    for (const requested_prefetch& part : parts) {
        const std::uint32_t location = part.location != HMMRT_LOCATION_NONE
                                           ? part.location
                                           : query_kernel(part.begin, part.end).out_last_prefetch;
        if (common.value_or(location) != location) return HMMRT_LOCATION_NONE;
        common = location;
    }
    return common.value_or(HMMRT_LOCATION_NONE);
}

hmmrt_range_attributes query(const void* ptr, std::size_t bytes) {
    const page_range pages = pages_around(ptr, bytes);
    const std::uint64_t end = pages.addr + pages.len;
    // before we ask the kernel, which then knows all prefetches that are done
    // by now
    const auto parts = process::get().prefetches().parts_of(pages.addr, end);
    hmmrt_range_attributes found = query_kernel(pages.addr, end);
    if (parts.front().location != HMMRT_LOCATION_NONE)
        found.out_last_prefetch = last_prefetch_of(parts);
    return found;
}

void list_accessed_by(std::span<int> out, std::uint32_t mask) {
    std::size_t used = 0;
    const auto add = [&](int number) {
        if (used < out.size()) out[used++] = number;
    };
    for (std::uint32_t left = mask & ~hmmByCpu; left != 0; left &= left - 1)
        add(__builtin_ctz(left));
    if ((mask & hmmByCpu) != 0) add(hmmCpuDeviceId);
    while (used < out.size())
        out[used++] = hmmInvalidDeviceId;
}

int value_of(const hmmrt_range_attributes& found, hmmMemRangeAttribute attribute,
             const device_numbers& numbers) {
    switch (attribute) {
    case hmmMemRangeAttributePreferredLocation:
        return numbers.number_of(found.out_preferred_location);
    case hmmMemRangeAttributeLastPrefetchLocation:
        return numbers.number_of(found.out_last_prefetch);
    case hmmMemRangeAttributePreferredLocationType:
        return numbers.location(found.out_preferred_location).type;
    case hmmMemRangeAttributePreferredLocationId:
        return numbers.location(found.out_preferred_location).id;
    case hmmMemRangeAttributeLastPrefetchLocationType:
        return numbers.location(found.out_last_prefetch).type;
    case hmmMemRangeAttributeLastPrefetchLocationId:
        return numbers.location(found.out_last_prefetch).id;
    case hmmMemRangeAttributeReadMostly:
    case hmmMemRangeAttributeAccessedBy: // a list, not a single value
        break;
    }
    return (found.out_flags & HMMRT_RANGE_READ_MOSTLY) != 0;
}

void store(void* data, std::size_t size, hmmMemRangeAttribute attribute,
           const hmmrt_range_attributes& found, const device_numbers& numbers) {
    static_assert(sizeof(hmmMemLocationType) == sizeof(int));
    if (attribute == hmmMemRangeAttributeAccessedBy) {
        list_accessed_by({static_cast<int*>(data), size / sizeof(int)},
                         numbers.mask(found.out_accessed_by));
        return;
    }
    const int value = value_of(found, attribute, numbers);
    std::memcpy(data, &value, sizeof(value));
}

/// Finds the location of a page. Returns false if the address isn't mapped.
bool find_page(const void* ptr, std::uint32_t& location) {
    if (reinterpret_cast<std::uint64_t>(ptr) >= user_space_end) return false;
    hmmrt_residency request = {};
    request.addr = pages_around(ptr, 1).addr;
    request.len = page_size;
    request.locations = reinterpret_cast<std::uint64_t>(&location);
    const int error = process::get().where().get_residency(request);
    if (error == -EFAULT) return false;
    check_memory_call("residency", error);
    return true;
}

void set_origin(hmmPointerAttributes& found, hmmMemoryType type, int device) {
    found.type = type;
    found.device = device;
}

/// Sets a pointer to NULL if its processor has no access.
void set_mapping(hmmPointerAttributes& found, const mapped_memory& mapped) {
    hmmMemoryType type = hmmMemoryTypeHost;
    if (mapped.type == hmmMemAllocationTypeManaged)
        type = hmmMemoryTypeManaged;
    else if (mapped.location.type == hmmMemLocationTypeDevice)
        type = hmmMemoryTypeDevice;
    set_origin(found, type, mapped.device);
    if (mapped.rights.of(current_device().id()) == 0) found.devicePointer = nullptr;
    if (mapped.rights.host == 0) found.hostPointer = nullptr;
}

/// True if the address is reserved but nothing is mapped there.
bool is_only_reserved(const void* ptr) {
    const address_range byte = {reinterpret_cast<std::uint64_t>(ptr), 1};
    const virtual_memory& all = process::get().reserved();
    return all.is_reserved(byte) && !all.find(byte.begin);
}

hmmPointerAttributes attributes_of(const void* ptr) {
    hmmPointerAttributes found = {};
    set_origin(found, hmmMemoryTypeUnregistered, hmmInvalidDeviceId);
    std::uint32_t location = HMMRT_LOCATION_NONE;
    if (is_only_reserved(ptr) || !find_page(ptr, location)) {
        found.location = hmmInvalidDeviceId;
        return found;
    }
    found.location = device_numbers().number_of(location);
    found.devicePointer = found.hostPointer = const_cast<void*>(ptr);
    if (const auto device = process::get().registered().device_of(ptr)) {
        set_origin(found, hmmMemoryTypeHost, *device);
    } else if (const auto given = process::get().managed().find(ptr)) {
        const bool of_device = given->kind == memory_kind::device;
        set_origin(found, of_device ? hmmMemoryTypeDevice : hmmMemoryTypeManaged, given->device);
    } else if (const auto variable = process::get().variables().find(ptr)) {
        if (variable->managed)
            set_origin(found, hmmMemoryTypeManaged, 0);
        else
            set_origin(found, hmmMemoryTypeDevice, current_device().number());
    } else if (const auto mapped =
                   process::get().reserved().find(reinterpret_cast<std::uint64_t>(ptr))) {
        set_mapping(found, *mapped);
    }
    return found;
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmMemRangeGetAttribute(void* data, size_t dataSize, hmmMemRangeAttribute attribute,
                                   const void* ptr, size_t bytes) {
    return guarded("hmmMemRangeGetAttribute", [&] {
        check_attribute(data, dataSize, attribute);
        store(data, dataSize, attribute, query(ptr, bytes), device_numbers());
    });
}

hmmError_t hmmMemRangeGetAttributes(void* const* data, const size_t* dataSizes,
                                    const hmmMemRangeAttribute* attributes, size_t count,
                                    const void* ptr, size_t bytes) {
    return guarded("hmmMemRangeGetAttributes", [&] {
        require(count > 0, "count is 0");
        require(data != nullptr && dataSizes != nullptr && attributes != nullptr,
                "an array is NULL");
        for (std::size_t i = 0; i < count; i++)
            check_attribute(data[i], dataSizes[i], attributes[i]);
        const hmmrt_range_attributes found = query(ptr, bytes);
        const device_numbers numbers;
        for (std::size_t i = 0; i < count; i++)
            store(data[i], dataSizes[i], attributes[i], found, numbers);
    });
}

hmmError_t hmmPointerGetAttributes(hmmPointerAttributes* attributes, const void* ptr) {
    return guarded("hmmPointerGetAttributes", [&] {
        require(attributes != nullptr, "attributes is NULL");
        *attributes = attributes_of(ptr);
    });
}
