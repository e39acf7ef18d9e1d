// SPDX-License-Identifier: MIT
// Attributes of memory ranges and of pointers.
#pragma once

#include <hmm/location.hpp>

#include <cstddef>
#include <iterator>
#include <span>
#include <vector>

namespace hmm {

/// Attributes that all pages of a range share.
struct range_attributes {
    bool read_mostly = false;
    /// The type is Invalid if pages differ or have no location.
    hmmMemLocation preferred = {hmmMemLocationTypeInvalid, hmmInvalidDeviceId};
    hmmMemLocation last_prefetch = {hmmMemLocationTypeInvalid, hmmInvalidDeviceId};
    /// Device numbers in ascending order, then hmmCpuDeviceId.
    std::vector<int> accessed_by;
};

/// Gets a consistent snapshot of the attributes of @memory.
template <class T, std::size_t Extent>
[[nodiscard]] range_attributes attributes(std::span<T, Extent> memory) {
    range_attributes result;
    if (memory.empty()) return result;
    constexpr hmmMemRangeAttribute which[] = {
        hmmMemRangeAttributeReadMostly,
        hmmMemRangeAttributePreferredLocationType,
        hmmMemRangeAttributePreferredLocationId,
        hmmMemRangeAttributeLastPrefetchLocationType,
        hmmMemRangeAttributeLastPrefetchLocationId,
        hmmMemRangeAttributeAccessedBy,
    };
    int mostly = 0;
    result.accessed_by.resize(static_cast<std::size_t>(device_count()) + 1);
    void* const data[] = {&mostly,
                          &result.preferred.type,
                          &result.preferred.id,
                          &result.last_prefetch.type,
                          &result.last_prefetch.id,
                          result.accessed_by.data()};
    constexpr std::size_t one = sizeof(int);
    const std::size_t sizes[] = {one, one, one, one, one, result.accessed_by.size() * one};
    check(hmmMemRangeGetAttributes(data, sizes, which, std::size(which), memory.data(),
                                   memory.size_bytes()),
          "attributes");
    result.read_mostly = mostly != 0;
    std::erase(result.accessed_by, hmmInvalidDeviceId);
    return result;
}

/// Gets the attributes of any address.
[[nodiscard]] inline hmmPointerAttributes attributes(const void* pointer) {
    hmmPointerAttributes result;
    check(hmmPointerGetAttributes(&result, pointer), "attributes");
    return result;
}

} // namespace hmm
