// SPDX-License-Identifier: MIT
// A map that shows where a process's pages are.
#pragma once

#include "lib/mappings.hpp"
#include "space_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hmmctl {

/// Consecutive pages in the same place.
struct run {
    std::uint64_t start = 0, pages = 0;
    page_place where = untouched;

    bool operator==(const run&) const = default;
};

/// Contiguous mappings of the same name.
struct region {
    std::uint64_t start = 0, end = 0;
    std::string name;      ///< of its mappings; may be any bytes
    std::vector<run> runs; ///< by address, without gaps
};

struct residency_scan {
    std::vector<region> regions; ///< by address
    std::size_t changed = 0;     ///< number of mappings that disappeared during the scan
};

/// Finds where all pages of the mappings are. Leaves out mappings without a page in memory and,
/// unless @all is set, file mappings of which no device has a page or a duplicate.
residency_scan scan_residency(memory_queries& queries, const std::vector<tools::mapping>& mappings,
                              bool all);

/// Adds up the pages of all regions, by place.
std::array<std::uint64_t, places> pages_by_place(const std::vector<region>& regions);

/// How to draw a map.
struct map_style {
    std::size_t columns = 80; ///< of the terminal, at least least_columns
    std::size_t rows = 40;    ///< maximum number of rows of cells, but at least one per region
    bool has_colours = false;
};

constexpr std::size_t least_columns = 40, most_columns = 1000;

/// Returns the character for a place.
char letter_of(page_place where);

/// Returns the number of pages per cell: the smallest power of two with which the map doesn't
/// exceed its maximum number of rows.
std::uint64_t pages_of_cell(const std::vector<region>& regions, const map_style& style);

/// Draws rows of cells, one character each, and a legend. A cell shows the place with most of its
/// pages, not counting untouched ones. Consecutive rows of only untouched pages become one line.
std::string draw(const std::vector<region>& regions, const map_style& style);

} // namespace hmmctl
