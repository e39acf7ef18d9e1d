// SPDX-License-Identifier: MIT
// A map of where the pages of a process are.
#pragma once

#include "mappings.hpp"
#include "space_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hmmctl {

/// Pages in a row that are in the same place.
struct run {
    std::uint64_t start = 0, pages = 0;
    page_place where = untouched;

    bool operator==(const run&) const = default;
};

/// Addresses without a gap.
struct region {
    std::uint64_t start = 0, end = 0;
    std::string name;      ///< of its mappings, which all have the same: any bytes
    std::vector<run> runs; ///< by address, together all of the region
};

struct residency_scan {
    std::vector<region> regions; ///< by address
    std::size_t changed = 0;     ///< mappings that went away during the scan
};

/// Finds where all pages of the mappings are. Leaves out mappings without a page in memory and,
/// unless @all is set, those of files that no device has a page or a duplicate of.
residency_scan scan_residency(memory_queries& queries, const std::vector<mapping>& mappings,
                              bool all);

/// Adds up the pages of all regions, by place.
std::array<std::uint64_t, places> pages_by_place(const std::vector<region>& regions);

/// How to draw a map.
struct map_style {
    std::size_t columns = 80; ///< of the terminal, at least least_columns
    std::size_t rows = 40;    ///< as many rows of cells as that, if one for each region is fewer
    bool has_colours = false;
};

constexpr std::size_t least_columns = 40, most_columns = 1000;

/// The character for a place.
char letter_of(page_place where);

/// Returns how many pages a cell has: the smallest power of two with which the map has no more rows
/// than it should.
std::uint64_t pages_of_cell(const std::vector<region>& regions, const map_style& style);

/// Draws rows of cells, one character each, and a legend. A cell shows where most of its pages are
/// that are anywhere. Rows in which no page is anywhere become one line.
std::string draw(const std::vector<region>& regions, const map_style& style);

} // namespace hmmctl
