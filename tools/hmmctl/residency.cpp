// SPDX-License-Identifier: MIT
#include "residency.hpp"

#include "ranges.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hmmctl {
namespace {

constexpr std::string_view letters = "0123456789abcdefHDX.";
static_assert(letters.size() == places);
/// `1234567890ab  ` precedes the cells of a row.
constexpr std::size_t address_columns = 12 + 2;

void add_pages(std::vector<run>& runs, std::uint64_t start, std::uint64_t pages, page_place where) {
    if (!runs.empty() && runs.back().where == where)
        runs.back().pages += pages;
    else
        runs.push_back({start, pages, where});
}

/// Returns nothing if the mapping disappeared.
std::optional<std::vector<run>> runs_of(memory_queries& queries, const tools::mapping& of) {
    std::vector<run> runs;
    if (has_no_pages(of))
        add_pages(runs, of.start, (of.end - of.start) / page_bytes, untouched);
    else if (!for_each_page(queries, of.start, of.end,
                            [&](std::uint64_t at, const hmmrt_page& page) {
                                add_pages(runs, at, 1, place_of(page));
                            }))
        return std::nullopt;
    return runs;
}

bool is_shown(const tools::mapping& of, const std::vector<run>& runs, bool all) {
    const bool takes_any = all || is_anonymous(of) || is_object(of);
    return std::any_of(runs.begin(), runs.end(), [&](const run& one) {
        return one.where != untouched && (takes_any || one.where != in_system_memory);
    });
}

void add_region(std::vector<region>& regions, const tools::mapping& of,
                const std::vector<run>& runs) {
    if (regions.empty() || regions.back().end != of.start || regions.back().name != of.name)
        regions.push_back({of.start, of.start, of.name, {}});
    region& last = regions.back();
    last.end = of.end;
    for (const run& one : runs)
        add_pages(last.runs, one.start, one.pages, one.where);
}

// --- drawing

std::size_t cells_of_row(const map_style& style) {
    return std::clamp(style.columns, least_columns, most_columns) - address_columns;
}

using cell = std::array<std::uint64_t, places>; // pages by place

/// A row of cells, or a number of rows without a page in memory.
struct row {
    std::uint64_t first_page = 0; ///< index in the region
    std::uint64_t pages = 0;
    std::vector<cell> cells; ///< empty for rows without a page in memory
};

std::uint64_t pages_in(const region& of) {
    return (of.end - of.start) / page_bytes;
}

/// Counts the rows of a region that have a page in memory.
std::uint64_t rows_in(const region& of, std::uint64_t pages_of_row) {
    std::uint64_t count = 0, next = 0; // next is the first row that isn't counted yet
    for (const run& one : of.runs) {
        if (one.where == untouched) continue;
        const std::uint64_t first = (one.start - of.start) / page_bytes;
        const std::uint64_t from = std::max(next, first / pages_of_row);
        const std::uint64_t to = (first + one.pages - 1) / pages_of_row + 1;
        if (to > from) count += to - from;
        next = std::max(next, to);
    }
    return count;
}

/// Returns the rows of a region, with consecutive ones without a page in memory merged into one.
std::vector<row> rows_of(const region& of, std::uint64_t pages_of_cell, std::size_t cells) {
    const std::uint64_t pages_of_row = pages_of_cell * cells;
    std::vector<row> rows;
    std::uint64_t made = 0; // number of pages that already have a row
    const auto skip_to = [&](std::uint64_t page) {
        if (page > made) rows.push_back({made, page - made, {}});
        made = std::max(made, page);
    };
    const auto add_row = [&] {
        const std::uint64_t pages = std::min(pages_of_row, pages_in(of) - made);
        rows.push_back({made, pages, std::vector<cell>((pages - 1) / pages_of_cell + 1)});
        made += pages;
    };
    for (const run& one : of.runs) {
        if (one.where == untouched) continue;
        std::uint64_t page = (one.start - of.start) / page_bytes;
        const std::uint64_t end = page + one.pages;
        while (page < end) {
            if (page >= made) {
                skip_to(page / pages_of_row * pages_of_row);
                add_row();
            }
            const std::uint64_t in_row = page - rows.back().first_page;
            const std::uint64_t rest = pages_of_cell - in_row % pages_of_cell;
            const std::uint64_t taken = std::min(rest, end - page);
            rows.back().cells[in_row / pages_of_cell][one.where] += taken;
            page += taken;
        }
    }
    skip_to(pages_in(of));
    return rows;
}

/// Returns the place with the most pages, on a tie the first one, so devices precede system memory.
page_place shown_in(const cell& of) {
    const auto most = std::max_element(of.begin(), of.begin() + untouched);
    return *most == 0 ? untouched : static_cast<page_place>(most - of.begin());
}

/// Returns the escape sequence for the colour of a place.
std::string colour_of(page_place where) {
    constexpr std::array devices = {32, 33, 35, 36, 92, 93, 95, 96};
    if (is_device(where)) return fmt::format("\033[1;{}m", devices[where % devices.size()]);
    switch (where) {
    case in_system_memory:
        return "\033[34m";
    case duplicated:
        return "\033[94m";
    case exclusive:
        return "\033[31m";
    default:
        return "\033[90m";
    }
}

constexpr std::string_view no_colour = "\033[0m";

std::string text_of(const std::vector<page_place>& shown, bool has_colours) {
    std::string text;
    for (std::size_t i = 0; i < shown.size(); i++) {
        if (has_colours && (i == 0 || shown[i] != shown[i - 1])) text += colour_of(shown[i]);
        text += letter_of(shown[i]);
    }
    if (has_colours) text += no_colour;
    return text;
}

std::string first_line_of(const region& of, std::size_t columns) {
    const std::string line =
        fmt::format("{:x}-{:x}  {}  {}", of.start, of.end, size_text(of.end - of.start),
                    of.name.empty() ? "(no name)" : printable(of.name));
    return line.substr(0, columns) + '\n';
}

std::string name_of(page_place where) {
    if (is_device(where)) return fmt::format("device {}", where);
    switch (where) {
    case in_system_memory:
        return "system memory";
    case duplicated:
        return "system memory, with a duplicate on a device";
    case exclusive:
        return "system memory, exclusive to a device";
    default:
        return "untouched";
    }
}

std::string legend_of(const std::vector<region>& regions, std::uint64_t pages_of_cell,
                      bool has_colours) {
    std::string text =
        fmt::format("Each cell is {} ({} {}).\n", size_text(pages_of_cell * page_bytes),
                    pages_of_cell, pages_of_cell == 1 ? "page" : "pages");
    const auto counted = pages_by_place(regions);
    for (page_place where = 0; where < places; where++)
        if (counted[where] != 0)
            text += fmt::format("{}  {}: {} {}\n", text_of({where}, has_colours), name_of(where),
                                counted[where], counted[where] == 1 ? "page" : "pages");
    return text;
}

} // namespace

residency_scan scan_residency(memory_queries& queries, const std::vector<tools::mapping>& mappings,
                              bool all) {
    residency_scan scan;
    for (const tools::mapping& of : mappings) {
        if (!can_be_queried(of)) continue;
        const auto runs = runs_of(queries, of);
        if (!runs)
            scan.changed++;
        else if (is_shown(of, *runs, all))
            add_region(scan.regions, of, *runs);
    }
    return scan;
}

std::array<std::uint64_t, places> pages_by_place(const std::vector<region>& regions) {
    std::array<std::uint64_t, places> counted = {};
    for (const region& of : regions)
        for (const run& one : of.runs)
            counted[one.where] += one.pages;
    return counted;
}

char letter_of(page_place where) {
    return letters[where];
}

std::uint64_t pages_of_cell(const std::vector<region>& regions, const map_style& style) {
    const std::size_t cells = cells_of_row(style);
    const std::uint64_t most = std::max(style.rows, regions.size());
    for (std::uint64_t pages = 1;; pages *= 2) {
        std::uint64_t rows = 0;
        for (const region& of : regions)
            rows += rows_in(of, pages * cells);
        if (rows <= most) return pages;
    }
}

std::string draw(const std::vector<region>& regions, const map_style& style) {
    if (regions.empty()) return "No pages are in memory.\n";
    const std::uint64_t pages = pages_of_cell(regions, style);
    const std::size_t cells = cells_of_row(style);
    std::string text;
    for (const region& of : regions) {
        text += first_line_of(of, cells + address_columns);
        for (const row& one : rows_of(of, pages, cells)) {
            if (one.cells.empty()) {
                text +=
                    fmt::format("{:>12}  {} untouched\n", "...", size_text(one.pages * page_bytes));
                continue;
            }
            std::vector<page_place> shown(one.cells.size());
            std::transform(one.cells.begin(), one.cells.end(), shown.begin(), shown_in);
            text += fmt::format("{:12x}  {}\n", of.start + one.first_page * page_bytes,
                                text_of(shown, style.has_colours));
        }
        text += '\n';
    }
    return text + legend_of(regions, pages, style.has_colours);
}

} // namespace hmmctl
