// SPDX-License-Identifier: MIT
// The ranges of a process that have advice, or pages that a device is concerned with.
#pragma once

#include "mappings.hpp"
#include "space_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hmmctl {

/// What a process has asked for, as in struct hmmrt_range_attributes.
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
    std::string name; ///< of its mapping: any bytes
    range_advice advice;
    page_counts pages;
};

struct range_scan {
    std::vector<memory_range> ranges; ///< by address
    std::size_t changed = 0;          ///< mappings that went away during the scan
};

/// Does the kernel answer queries about such a mapping?
bool can_be_queried(const mapping& of);

/// Is there no page in it for sure, so that to look for them would take time for nothing?
bool has_no_pages(const mapping& of);

/// Calls @look with the address and the state of each page. Returns false if a part of the range is
/// not mapped any more.
bool for_each_page(memory_queries& queries, std::uint64_t start, std::uint64_t end,
                   const std::function<void(std::uint64_t, const hmmrt_page&)>& look);

/// Cuts a range where the advice changes. Returns nothing if a part of it is not mapped any more.
/// Throws failure if the module cannot tell where that is.
std::optional<std::vector<advised_part>> parts_of(memory_queries& queries, std::uint64_t start,
                                                  std::uint64_t end);

/// Makes one of ranges that follow each other without a gap and have the same name and advice.
std::vector<memory_range> merged(std::vector<memory_range> ranges);

/// Finds the ranges that have advice, a page on a device, or one that a device has mapped.
range_scan scan_ranges(memory_queries& queries, const std::vector<mapping>& mappings);

} // namespace hmmctl
