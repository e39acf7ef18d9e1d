// SPDX-License-Identifier: MIT
// The ranges of a process that have advice or that a device has pages of.
#pragma once

#include "lib/mappings.hpp"
#include "space_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hmmctl {

/// The advice for a range, as in struct hmmrt_range_attributes.
struct range_advice {
    std::uint32_t flags = 0;       ///< HMMRT_RANGE_*
    std::uint32_t accessed_by = 0; ///< mask of processors
    std::uint32_t preferred = HMMRT_LOCATION_NONE, last_prefetch = HMMRT_LOCATION_NONE;
    std::uint64_t granularity = 0; ///< 0 for none

    bool operator==(const range_advice&) const = default;
};

/// Addresses with the same advice.
struct advised_part {
    std::uint64_t start = 0, end = 0;
    range_advice advice;

    bool operator==(const advised_part&) const = default;
};

struct memory_range {
    std::uint64_t start = 0, end = 0;
    std::string name; ///< of its mapping; may be any bytes
    range_advice advice;
    page_counts pages;
};

struct range_scan {
    std::vector<memory_range> ranges; ///< by address
    std::size_t changed = 0;          ///< number of mappings that disappeared during the scan
};

/// Can we query the module about such a mapping?
bool can_be_queried(const tools::mapping& of);

/// Does the mapping certainly have no pages? We skip those, because looking for pages takes time.
bool has_no_pages(const tools::mapping& of);

/// Calls @look with each page's address and state. Returns false if a part of the range isn't
/// mapped anymore.
bool for_each_page(memory_queries& queries, std::uint64_t start, std::uint64_t end,
                   const std::function<void(std::uint64_t, const hmmrt_page&)>& look);

/// Splits a range where the advice changes. Returns nothing if a part of it isn't mapped anymore.
/// Throws failure if the loaded module doesn't report where advice changes.
std::optional<std::vector<advised_part>> parts_of(memory_queries& queries, std::uint64_t start,
                                                  std::uint64_t end);

/// Merges adjacent ranges that have the same name and advice.
std::vector<memory_range> merged(std::vector<memory_range> ranges);

/// Finds the ranges that have advice, a page or a duplicate on a device, or a page that a device
/// has mapped.
range_scan scan_ranges(memory_queries& queries, const std::vector<tools::mapping>& mappings);

} // namespace hmmctl
