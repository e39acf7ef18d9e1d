// SPDX-License-Identifier: MIT
#include "ranges.hpp"

#include "failure.hpp"

#include <algorithm>

namespace hmmctl {
namespace {

constexpr std::size_t pages_at_once = 8192;
/// A query walks all advised ranges in its window, so windows have to be small where there are
/// many.
constexpr std::uint64_t smallest_window = 2 << 20, largest_window = 1ull << 40;

range_advice advice_in(const hmmrt_range_attributes& found) {
    return {found.out_flags, found.out_accessed_by, found.out_preferred_location,
            found.out_last_prefetch, found.out_granularity};
}

/// Returns the longest part with the same advice that begins at @start, limited to @most bytes.
std::optional<advised_part> part_at(memory_queries& queries, std::uint64_t start,
                                    std::uint64_t most) {
    for (std::uint64_t bytes = most;;) {
        const auto found = queries.attributes(start, bytes);
        if (!found) return std::nullopt;
        const std::uint64_t alike = found->out_alike_bytes;
        if (alike == 0 || alike > bytes || alike % page_bytes != 0)
            throw failure("the loaded hmmrt module cannot report the bounds of ranges");
        // the query returns what the whole range has in common, so repeat it for the first part
        if (alike == bytes) return advised_part{start, start + bytes, advice_in(*found)};
        bytes = alike;
    }
}

bool is_listed(const memory_range& range) {
    return range.advice != range_advice{} || range.pages.has_device();
}

/// Adds the ranges of a mapping. Returns false if it went away.
bool scan_mapping(memory_queries& queries, const tools::mapping& of,
                  std::vector<memory_range>& found) {
    const auto parts = parts_of(queries, of.start, of.end);
    if (!parts) return false;
    for (const advised_part& part : *parts) {
        memory_range range = {part.start, part.end, of.name, part.advice, {}};
        if (has_no_pages(of))
            range.pages.at[untouched] = (part.end - part.start) / page_bytes;
        else if (!for_each_page(
                     queries, part.start, part.end,
                     [&](std::uint64_t, const hmmrt_page& page) { range.pages.add(page); }))
            return false;
        if (is_listed(range)) found.push_back(std::move(range));
    }
    return true;
}

} // namespace

bool can_be_queried(const tools::mapping& of) {
    return of.end >> 63 == 0; // [vsyscall] is the kernel's
}

bool has_no_pages(const tools::mapping& of) {
    if (is_object(of)) return false;
    return !of.readable || of.resident_bytes == 0u;
}

bool for_each_page(memory_queries& queries, std::uint64_t start, std::uint64_t end,
                   const std::function<void(std::uint64_t, const hmmrt_page&)>& look) {
    std::vector<hmmrt_page> pages;
    while (start < end) {
        pages.resize(std::min<std::uint64_t>(pages_at_once, (end - start) / page_bytes));
        if (!queries.pages(start, pages)) return false;
        for (const hmmrt_page& page : pages) {
            look(start, page);
            start += page_bytes;
        }
    }
    return true;
}

std::optional<std::vector<advised_part>> parts_of(memory_queries& queries, std::uint64_t start,
                                                  std::uint64_t end) {
    std::vector<advised_part> parts;
    std::uint64_t window = smallest_window;
    while (start < end) {
        const std::uint64_t asked = std::min(window, end - start);
        const auto part = part_at(queries, start, asked);
        if (!part) return std::nullopt;
        if (!parts.empty() && parts.back().advice == part->advice)
            parts.back().end = part->end;
        else
            parts.push_back(*part);
        window =
            part->end - start == asked ? std::min(window * 2, largest_window) : smallest_window;
        start = part->end;
    }
    return parts;
}

std::vector<memory_range> merged(std::vector<memory_range> ranges) {
    std::vector<memory_range> result;
    for (memory_range& range : ranges) {
        if (!result.empty() && result.back().end == range.start &&
            result.back().name == range.name && result.back().advice == range.advice) {
            result.back().end = range.end;
            result.back().pages.add(range.pages);
        } else {
            result.push_back(std::move(range));
        }
    }
    return result;
}

range_scan scan_ranges(memory_queries& queries, const std::vector<tools::mapping>& mappings) {
    range_scan scan;
    for (const tools::mapping& of : mappings)
        if (can_be_queried(of) && !scan_mapping(queries, of, scan.ranges)) scan.changed++;
    scan.ranges = merged(std::move(scan.ranges));
    return scan;
}

} // namespace hmmctl
