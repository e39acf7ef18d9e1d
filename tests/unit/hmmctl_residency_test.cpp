// SPDX-License-Identifier: MIT
// How `hmmctl residency` interprets the module's answers, and the map that it draws.
#include "hmmctl_memory.hpp"

#include "residency.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

using namespace hmmctl;
using namespace hmmctl_tests;

namespace {

constexpr std::uint64_t region_base = 0x100000000000;
/// 26 cells in a row.
constexpr map_style narrow = {.columns = 40, .rows = 40, .has_colours = false};
constexpr std::uint64_t cells = 26;

region region_of(std::uint64_t start,
                 const std::vector<std::pair<std::uint64_t, page_place>>& parts,
                 const std::string& name = "") {
    region made = {start, start, name, {}};
    for (const auto& [pages, where] : parts) {
        made.runs.push_back({made.end, pages, where});
        made.end += pages * page;
    }
    return made;
}

/// Returns the cells of all rows.
std::vector<std::string> rows_in(const std::string& map) {
    std::vector<std::string> rows;
    std::istringstream lines(map);
    for (std::string line; std::getline(lines, line);)
        if (line.size() > 14 && line.find_first_not_of("0123456789abcdef") == line.find("  ") &&
            line.find("  ") == 12)
            rows.push_back(line.substr(14));
    return rows;
}

std::string legend_of(const std::string& map) {
    return map.substr(map.find("Each cell"));
}

// --- the scan

TEST(HmmctlResidency, HasARunForEachPlace) {
    made_up_memory memory(region_base, 10);
    memory.place_on_host(region_base, 3);
    memory.place_on_device(region_base + 3 * page, 4, 2);
    const auto scan = scan_residency(memory, {mapping_at(region_base, 10, "[heap]")}, false);
    ASSERT_EQ(scan.regions.size(), 1u);
    EXPECT_EQ(scan.regions[0].start, region_base);
    EXPECT_EQ(scan.regions[0].end, region_base + 10 * page);
    EXPECT_EQ(scan.regions[0].name, "[heap]");
    EXPECT_EQ(scan.regions[0].runs, (std::vector<run>{{region_base, 3, in_system_memory},
                                                      {region_base + 3 * page, 4, 2},
                                                      {region_base + 7 * page, 3, untouched}}));
    const auto counted = pages_by_place(scan.regions);
    EXPECT_EQ(counted[2], 4u);
    EXPECT_EQ(counted[in_system_memory], 3u);
    EXPECT_EQ(counted[untouched], 3u);
}

TEST(HmmctlResidency, JoinsAdjacentMappingsWithTheSameName) {
    made_up_memory memory(region_base, 6);
    memory.place_on_host(region_base, 6);
    const auto scan =
        scan_residency(memory,
                       {mapping_at(region_base, 2), mapping_at(region_base + 2 * page, 2),
                        mapping_at(region_base + 4 * page, 1, "[heap]"),
                        mapping_at(region_base + 5 * page, 1, "[heap]")},
                       false);
    ASSERT_EQ(scan.regions.size(), 2u);
    EXPECT_EQ(scan.regions[0].runs, (std::vector<run>{{region_base, 4, in_system_memory}}));
    EXPECT_EQ(scan.regions[1].runs,
              (std::vector<run>{{region_base + 4 * page, 2, in_system_memory}}));
}

TEST(HmmctlResidency, LeavesOutFilesThatNoDeviceHasUnlessAllIsWanted) {
    made_up_memory memory(region_base, 4);
    memory.place_on_host(region_base, 2);
    memory.place_on_device(region_base + page, 1, 0);
    memory.place_on_host(region_base + 2 * page, 1);
    const std::vector<tools::mapping> mappings = {mapping_at(region_base, 2, "/bin/used"),
                                                  mapping_at(region_base + 2 * page, 1, "/bin/not"),
                                                  mapping_at(region_base + 3 * page, 1)};
    auto scan = scan_residency(memory, mappings, false);
    ASSERT_EQ(scan.regions.size(), 1u);
    EXPECT_EQ(scan.regions[0].name, "/bin/used");
    scan = scan_residency(memory, mappings, true);
    ASSERT_EQ(scan.regions.size(), 2u); // the last mapping has no page in memory
    EXPECT_EQ(scan.regions[1].name, "/bin/not");
}

TEST(HmmctlResidency, CountsMappingsThatWentAway) {
    made_up_memory memory;
    const auto scan = scan_residency(
        memory, {mapping_at(region_base, 2), mapping_at(0xffffffffff600000, 1, "[vsyscall]")},
        true);
    EXPECT_EQ(scan.changed, 1u);
    EXPECT_TRUE(scan.regions.empty());
}

// --- the map

TEST(HmmctlMap, HasACellForEachPageIfTheyFit) {
    const std::string map = draw({region_of(region_base,
                                            {{2, in_system_memory},
                                             {3, 0},
                                             {2, 15},
                                             {1, duplicated},
                                             {1, exclusive},
                                             {2, untouched},
                                             {1, 1}},
                                            "[heap]\033")},
                                 narrow);
    EXPECT_EQ(map, "100000000000-10000000c000  48 KiB  [heap\n"
                   "100000000000  HH000ffDX..1\n"
                   "\n"
                   "Each cell is 4 KiB (1 page).\n"
                   "0  device 0: 3 pages\n"
                   "1  device 1: 1 page\n"
                   "f  device 15: 2 pages\n"
                   "H  system memory: 2 pages\n"
                   "D  system memory, with a duplicate on a device: 1 page\n"
                   "X  system memory, exclusive to a device: 1 page\n"
                   ".  untouched: 2 pages\n");
}

TEST(HmmctlMap, HasAsManyRowsAsItTakes) {
    const std::string map =
        draw({region_of(region_base, {{cells, 0}, {cells, 1}, {5, 2}})}, narrow);
    EXPECT_EQ(rows_in(map), (std::vector<std::string>{std::string(cells, '0'),
                                                      std::string(cells, '1'), "22222"}));
    EXPECT_NE(map.find(fmt::format("\n{:x}  1", region_base + cells * page)), std::string::npos)
        << map;
}

TEST(HmmctlMap, TakesLargerCellsIfThereAreTooManyRows) {
    map_style style = narrow;
    style.rows = 2;
    const std::vector<region> regions = {region_of(region_base, {{cells * 5, 0}})};
    EXPECT_EQ(pages_of_cell(regions, style), 4u);
    style.rows = 3;
    EXPECT_EQ(pages_of_cell(regions, style), 2u);
    const std::string map = draw(regions, style);
    EXPECT_EQ(rows_in(map),
              (std::vector<std::string>{std::string(cells, '0'), std::string(cells, '0'),
                                        std::string(cells / 2, '0')}));
    EXPECT_TRUE(legend_of(map).starts_with("Each cell is 8 KiB (2 pages).\n")) << map;
}

TEST(HmmctlMap, HasARowForEachRegionEvenIfTheseAreMore) {
    map_style style = narrow;
    style.rows = 1;
    const std::vector<region> regions = {region_of(region_base, {{cells * 2, 0}}),
                                         region_of(region_base + 100 * page, {{1, 1}})};
    EXPECT_EQ(pages_of_cell(regions, style), 1u << 1);
    EXPECT_EQ(rows_in(draw(regions, style)).size(), 2u);
}

TEST(HmmctlMap, ShowsInACellWhereMostOfItsPagesAre) {
    map_style style = narrow;
    style.rows = 1;
    // cells of four pages
    const std::string map = draw({region_of(region_base, {{3, in_system_memory},
                                                          {1, 0},
                                                          {2, in_system_memory},
                                                          {2, 1},
                                                          {3, untouched},
                                                          {1, 2},
                                                          {4, untouched},
                                                          {cells * 4 - 16, in_system_memory}})},
                                 style);
    EXPECT_EQ(rows_in(map), (std::vector<std::string>{"H12." + std::string(cells - 4, 'H')}));
}

TEST(HmmctlMap, MakesALineOfRowsWithoutAPageInMemory) {
    const std::uint64_t gap = cells * 1'000'000'000;
    const std::string map =
        draw({region_of(region_base, {{1, 0}, {gap, untouched}, {1, 1}, {cells * 3, untouched}})},
             narrow);
    EXPECT_EQ(map.substr(map.find('\n') + 1),
              fmt::format("100000000000  0{0}\n"
                          "         ...  {1} untouched\n"
                          "{2:12x}  .1{3}\n"
                          "         ...  {4} untouched\n"
                          "\n"
                          "Each cell is 4 KiB (1 page).\n"
                          "0  device 0: 1 page\n"
                          "1  device 1: 1 page\n"
                          ".  untouched: {5} pages\n",
                          std::string(cells - 1, '.'), "96.9 TiB", region_base + gap * page,
                          std::string(cells - 2, '.'), "216 KiB", gap + cells * 3));
}

TEST(HmmctlMap, FitsTheColumns) {
    for (const std::size_t columns : {40, 41, 80, 1000}) {
        map_style style = narrow;
        style.columns = columns;
        std::istringstream lines(draw(
            {region_of(region_base, {{5000, 0}, {5000, in_system_memory}}, std::string(2000, 'x'))},
            style));
        std::size_t longest = 0;
        for (std::string line; std::getline(lines, line) && !line.empty();)
            longest = std::max(longest, line.size());
        EXPECT_EQ(longest, columns);
    }
}

TEST(HmmctlMap, HasColoursOnlyIfWanted) {
    map_style style = narrow;
    const std::vector<region> regions = {region_of(region_base, {{2, 0}, {1, in_system_memory}})};
    EXPECT_EQ(draw(regions, style).find('\033'), std::string::npos);
    style.has_colours = true;
    const std::string map = draw(regions, style);
    EXPECT_NE(map.find("100000000000  \033[1;32m00\033[34mH\033[0m\n"), std::string::npos) << map;
}

TEST(HmmctlMap, OfNothingSaysSo) {
    EXPECT_EQ(draw({}, narrow), "No pages are in memory.\n");
}

TEST(HmmctlMap, HasAllPages) {
    // each page is in one cell, whatever the size of a cell
    for (std::uint64_t rows = 1; rows < 40; rows++) {
        map_style style = narrow;
        style.rows = rows;
        const region of = region_of(region_base, {{700, 3}, {1, untouched}, {299, 3}});
        const std::uint64_t of_cell = pages_of_cell({of}, style);
        std::string shown;
        for (const std::string& row : rows_in(draw({of}, style)))
            shown += row;
        EXPECT_EQ(shown.size(), (1000 + of_cell - 1) / of_cell);
        EXPECT_EQ(std::count(shown.begin(), shown.end(), '.'), of_cell == 1 ? 1 : 0);
        EXPECT_LE(rows_in(draw({of}, style)).size(), rows);
    }
}

} // namespace
