// SPDX-License-Identifier: MIT
// How `hmmctl range list` and `hmmctl residency` interpret the module's answers, and the map that
// they draw.
#include "hmmctl_report.hpp"

#include "memory.hpp"
#include "ranges.hpp"
#include "residency.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <random>
#include <sstream>

using namespace hmmctl;

namespace {

constexpr std::uint64_t base = 0x100000000000;

struct made_up_page {
    hmmctl::range_advice advice;
    hmmrt_page state = {.location = HMMRT_LOCATION_NONE,
                        .flags = 0,
                        .mapped_by = 0,
                        .written_by = 0,
                        .duplicates = 0,
                        .cause = 0,
                        .time = 0};
};

/// Pages by address; other addresses are not mapped. Answers queries as the module does.
class made_up_memory : public hmmctl::memory_queries {
  public:
    made_up_memory() = default;
    made_up_memory(std::uint64_t start, std::uint64_t count) { map(start, count); }

    std::map<std::uint64_t, made_up_page> all;
    std::vector<std::uint64_t> asked; ///< bytes of each query about attributes
    bool tells_alike = true;

    void map(std::uint64_t start, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; i++)
            all[start + i * page] = {};
    }

    std::vector<made_up_page*> at(std::uint64_t start, std::uint64_t count) {
        std::vector<made_up_page*> found;
        for (std::uint64_t i = 0; i < count; i++)
            found.push_back(&all.at(start + i * page));
        return found;
    }

    void advise(std::uint64_t start, std::uint64_t count, const hmmctl::range_advice& advice) {
        for (made_up_page* one : at(start, count))
            one->advice = advice;
    }

    void place_on_host(std::uint64_t start, std::uint64_t count) {
        for (made_up_page* one : at(start, count)) {
            one->state.location = HMMRT_LOCATION_HOST;
            one->state.mapped_by = HMMRT_BY_CPU;
        }
    }

    void place_on_device(std::uint64_t start, std::uint64_t count, std::uint32_t id) {
        for (made_up_page* one : at(start, count)) {
            one->state.location = id;
            one->state.mapped_by = 1u << id;
        }
    }

    std::optional<hmmrt_range_attributes> attributes(std::uint64_t start,
                                                     std::uint64_t bytes) override {
        asked.push_back(bytes);
        if (!is_mapped(start, bytes)) return std::nullopt;
        const hmmctl::range_advice first = all[start].advice;
        hmmctl::range_advice common = first;
        hmmrt_range_attributes found = {};
        bool is_alike = true;
        for (std::uint64_t at = start; at < start + bytes; at += page) {
            const hmmctl::range_advice& one = all[at].advice;
            is_alike = is_alike && one == first;
            if (is_alike) found.out_alike_bytes += page;
            if (!(one == common)) common = {};
        }
        if (!tells_alike) found.out_alike_bytes = 0;
        found.out_flags = common.flags;
        found.out_accessed_by = common.accessed_by;
        found.out_preferred_location = common.preferred;
        found.out_last_prefetch = common.last_prefetch;
        found.out_granularity = common.granularity;
        return found;
    }

    bool pages(std::uint64_t start, std::span<hmmrt_page> into) override {
        if (!is_mapped(start, into.size() * page)) return false;
        for (hmmrt_page& one : into) {
            one = all[start].state;
            start += page;
        }
        return true;
    }

  private:
    bool is_mapped(std::uint64_t start, std::uint64_t bytes) const {
        for (std::uint64_t at = start; at < start + bytes; at += page)
            if (!all.contains(at)) return false;
        return true;
    }
};

tools::mapping mapping_at(std::uint64_t start, std::uint64_t pages, const std::string& name = "") {
    tools::mapping made;
    made.start = start;
    made.end = start + pages * page;
    made.readable = true;
    made.name = name;
    return made;
}

// ---- ranges

range_advice prefers(std::uint32_t location) {
    range_advice advice;
    advice.preferred = location;
    return advice;
}

// --- /proc/PID/smaps

TEST(HmmctlMappings, HaveWhatMapsSays) {
    const auto found =
        tools::parse_mappings("00400000-00401000 r-xp 00001000 08:01 12   /bin/a b\n"
                              "7f0000000000-7f0000002000 ---p 00000000 00:00 0 \n"
                              "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0   [stack]\n");
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].start, 0x400000u);
    EXPECT_EQ(found[0].end, 0x401000u);
    EXPECT_EQ(found[0].offset, 0x1000u);
    EXPECT_TRUE(found[0].readable);
    EXPECT_TRUE(found[0].executable);
    EXPECT_EQ(found[0].name, "/bin/a b");
    EXPECT_FALSE(found[0].resident_bytes);
    EXPECT_FALSE(found[1].readable);
    EXPECT_EQ(found[1].name, "");
    EXPECT_EQ(found[2].name, "[stack]");
    EXPECT_FALSE(is_anonymous(found[0]));
    EXPECT_TRUE(is_anonymous(found[1]));
    EXPECT_TRUE(is_anonymous(found[2]));
}

TEST(HmmctlMappings, HaveTheResidentSizeOfSmaps) {
    const auto found =
        tools::parse_mappings("00400000-00401000 r-xp 00001000 08:01 12   /bin/Rss: 9 kB\n"
                              "Size:                  4 kB\n"
                              "Rss:                   4 kB\n"
                              "VmFlags: rd ex mr mw me \n"
                              "7f0000000000-7f0000002000 rw-p 00000000 00:00 0 \n"
                              "Rss:                   0 kB\n");
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].resident_bytes, 4096u);
    EXPECT_EQ(found[1].resident_bytes, 0u);
    EXPECT_EQ(found[0].flags, " rd ex mr mw me ");
    EXPECT_EQ(found[1].flags, "");
    EXPECT_FALSE(has_no_pages(found[0]));
    EXPECT_TRUE(has_no_pages(found[1]));
}

TEST(HmmctlMappings, SkipWhatIsNone) {
    EXPECT_TRUE(tools::parse_mappings("").empty());
    EXPECT_TRUE(tools::parse_mappings("\n-\nRss: 4 kB\nx-y r 0\n2000-1000 r--p 0 0 0\n").empty());
}

// --- pages

TEST(HmmctlPage, IsWhereTheModuleSays) {
    hmmrt_page one = {};
    one.location = 3;
    one.duplicates = 1;
    EXPECT_EQ(place_of(one), 3);
    one.location = HMMRT_LOCATION_HOST;
    EXPECT_EQ(place_of(one), duplicated);
    one.duplicates = 0;
    EXPECT_EQ(place_of(one), untouched); // such as memory without permission
    one.flags = HMMRT_PAGE_FILE;
    EXPECT_EQ(place_of(one), in_system_memory);
    one.flags = 0;
    one.mapped_by = HMMRT_BY_CPU;
    EXPECT_EQ(place_of(one), in_system_memory);
    one.location = HMMRT_LOCATION_NONE;
    one.mapped_by = 1;
    EXPECT_EQ(place_of(one), exclusive);
    one.mapped_by = 0;
    EXPECT_EQ(place_of(one), untouched);
}

TEST(HmmctlPage, IsCountedOnceByPlaceAndForEachDevice) {
    hmmrt_page one = {};
    one.location = HMMRT_LOCATION_HOST;
    one.mapped_by = HMMRT_BY_CPU | 1u << 0 | 1u << 15;
    one.duplicates = 1u << 15;
    page_counts counts, twice;
    counts.add(one);
    twice.add(counts);
    twice.add(counts);
    EXPECT_EQ(twice.at[duplicated], 2u);
    EXPECT_EQ(twice.mapped[0], 2u);
    EXPECT_EQ(twice.mapped[15], 2u);
    EXPECT_EQ(twice.duplicates[15], 2u);
    EXPECT_EQ(twice.duplicates[0], 0u);
    EXPECT_TRUE(counts.has_device());
    EXPECT_FALSE(page_counts().has_device());
}

// --- parts with one advice

TEST(HmmctlParts, EndWhereTheAdviceChanges) {
    made_up_memory memory(base, 10);
    memory.advise(base + 2 * page, 3, prefers(1));
    memory.advise(base + 5 * page, 1, prefers(2));
    EXPECT_EQ(parts_of(memory, base, base + 10 * page),
              (std::vector<advised_part>{{base, base + 2 * page, {}},
                                         {base + 2 * page, base + 5 * page, prefers(1)},
                                         {base + 5 * page, base + 6 * page, prefers(2)},
                                         {base + 6 * page, base + 10 * page, {}}}));
}

TEST(HmmctlParts, AreThoseOfEachPage) {
    std::mt19937 random(1);
    for (int round = 0; round < 10; round++) {
        made_up_memory memory;
        const std::uint64_t pages = 1 + random() % 1500; // a window has 512 at first
        memory.map(base, pages);
        for (int i = 0; i < 6; i++) {
            const std::uint64_t first = random() % pages;
            for (made_up_page* one : memory.at(base + first * page, random() % (pages - first)))
                one->advice = prefers(random() % 3);
        }
        const auto parts = parts_of(memory, base, base + pages * page);
        ASSERT_TRUE(parts);
        std::uint64_t at = base;
        for (const advised_part& part : *parts) {
            ASSERT_EQ(part.start, at);
            for (; at < part.end; at += page)
                ASSERT_EQ(memory.all[at].advice, part.advice);
            if (memory.all.contains(at)) {
                ASSERT_NE(memory.all[at].advice, part.advice) << "not as long as it could be";
            }
        }
        ASSERT_EQ(at, base + pages * page);
    }
}

TEST(HmmctlParts, OfMuchMemoryWithOneAdviceTakeFewQueries) {
    made_up_memory memory(base, 512 * 31);
    EXPECT_EQ(parts_of(memory, base, base + 512 * 31 * page)->size(), 1u);
    EXPECT_EQ(memory.asked.size(), 5u); // 1, 2, 4, 8 and 16 times 2 MiB
}

TEST(HmmctlParts, AreNoneIfSomethingIsNotMappedOrTheModuleDoesNotTellWhereTheyEnd) {
    made_up_memory memory(base, 3);
    EXPECT_FALSE(parts_of(memory, base, base + 4 * page));
    memory.tells_alike = false;
    EXPECT_THROW(parts_of(memory, base, base + 3 * page), failure);
}

// --- ranges

TEST(HmmctlRanges, AreThoseWithAdviceOrADevice) {
    made_up_memory memory(base, 8);
    memory.place_on_host(base, 8);
    memory.map(base + 16 * page, 8);
    memory.place_on_device(base + 16 * page, 2, 1);
    memory.map(base + 32 * page, 8);
    for (made_up_page* one : memory.at(base + 34 * page, 2))
        one->advice.flags = HMMRT_RANGE_READ_MOSTLY;
    memory.map(base + 48 * page, 1);
    memory.place_on_host(base + 48 * page, 1);
    memory.all[base + 48 * page].state.mapped_by |= 1; // remotely
    const range_scan scan =
        scan_ranges(memory, {mapping_at(base, 8, "/lib"), mapping_at(base + 16 * page, 8, "[heap]"),
                             mapping_at(base + 32 * page, 8), mapping_at(base + 48 * page, 1)});
    EXPECT_EQ(scan.changed, 0u);
    ASSERT_EQ(scan.ranges.size(), 3u);
    EXPECT_EQ(scan.ranges[0].start, base + 16 * page);
    EXPECT_EQ(scan.ranges[0].end, base + 24 * page);
    EXPECT_EQ(scan.ranges[0].name, "[heap]");
    EXPECT_EQ(scan.ranges[0].pages.at[1], 2u);
    EXPECT_EQ(scan.ranges[0].pages.at[untouched], 6u);
    EXPECT_EQ(scan.ranges[1].start, base + 34 * page);
    EXPECT_EQ(scan.ranges[1].end, base + 36 * page);
    EXPECT_EQ(scan.ranges[2].pages.mapped[0], 1u);
}

TEST(HmmctlRanges, OfAdjacentMappingsAreOneIfTheyAreAlike) {
    made_up_memory memory(base, 12);
    memory.advise(base, 12, prefers(0));
    memory.place_on_device(base + page, 4, 0);
    const range_scan scan = scan_ranges(
        memory, {mapping_at(base, 2, "a"), mapping_at(base + 2 * page, 2, "a"),
                 mapping_at(base + 4 * page, 2, "b"), mapping_at(base + 7 * page, 2, "b")});
    ASSERT_EQ(scan.ranges.size(), 3u);
    EXPECT_EQ(scan.ranges[0].end, base + 4 * page);
    EXPECT_EQ(scan.ranges[0].pages.at[0], 3u);
    EXPECT_EQ(scan.ranges[0].pages.at[untouched], 1u);
    EXPECT_EQ(scan.ranges[1].pages.at[0], 1u);
    EXPECT_EQ(scan.ranges[2].start, base + 7 * page);
}

TEST(HmmctlRanges, LeaveOutMappingsThatWentAway) {
    made_up_memory memory(base, 2);
    memory.advise(base, 2, prefers(0));
    const range_scan scan =
        scan_ranges(memory, {mapping_at(base + 8 * page, 2), mapping_at(base, 2)});
    EXPECT_EQ(scan.changed, 1u);
    EXPECT_EQ(scan.ranges.size(), 1u);
    EXPECT_EQ(changed_note(0), "");
    EXPECT_EQ(changed_note(1), "hmmctl: 1 mapping changed during the scan and is left out\n");
    EXPECT_EQ(changed_note(2), "hmmctl: 2 mappings changed during the scan and are left out\n");
}

TEST(HmmctlRanges, AskForNoPagesWhereThereAreNone) {
    made_up_memory memory(base, 2);
    memory.place_on_device(base, 2, 0); // which the mappings deny
    tools::mapping empty = mapping_at(base, 2), closed = mapping_at(base, 2);
    empty.resident_bytes = 0;
    closed.readable = false;
    EXPECT_TRUE(scan_ranges(memory, {empty}).ranges.empty());
    EXPECT_TRUE(scan_ranges(memory, {closed}).ranges.empty());
    closed.name = "/hmmrt-object (deleted)"; // devices may use it anyway
    EXPECT_EQ(scan_ranges(memory, {closed}).ranges.size(), 1u);
    tools::mapping of_kernel = mapping_at(0xffffffffff600000, 1, "[vsyscall]");
    const range_scan scan = scan_ranges(memory, {of_kernel});
    EXPECT_TRUE(scan.ranges.empty());
    EXPECT_EQ(scan.changed, 0u);
}

// --- what is printed

memory_range example_range() {
    memory_range range = {base, base + 6 * page, "[heap]\n", {}, {}};
    range.advice = {HMMRT_RANGE_READ_MOSTLY | HMMRT_RANGE_NO_MIGRATE, HMMRT_BY_CPU | 1u << 1, 0,
                    HMMRT_LOCATION_HOST_NODE(2), 65536};
    range.pages.at[0] = 1;
    range.pages.at[duplicated] = 2;
    range.pages.at[exclusive] = 1;
    range.pages.at[untouched] = 2;
    range.pages.duplicates[1] = 2;
    range.pages.mapped[1] = 3;
    return range;
}

TEST(HmmctlRangeText, HasAColumnForEachDevice) {
    EXPECT_EQ(text_of(std::vector{example_range()}, {1}),
              "RANGE                        SIZE  HOST  DEVICE 0  DEVICE 1  DUPLICATED  UNTOUCHED  "
              "MAPPING  ADVICE\n"
              "100000000000-100000006000  24 KiB     3         1         0           2          2  "
              "[heap]?  read-mostly, no-migrate, preferred device 0, accessed by host, "
              "accessed by device 1, granularity 64 KiB, prefetched to node 2\n");
    EXPECT_EQ(text_of(std::vector<memory_range>(), {}),
              "RANGE  SIZE  HOST  DUPLICATED  UNTOUCHED  MAPPING  ADVICE\n");
    EXPECT_EQ(advice_text({}), "");
}

TEST(HmmctlRangeJson, HasAllFields) {
    const json expected = {
        {"start", base},
        {"end", base + 6 * page},
        {"bytes", 6 * page},
        {"name", "[heap]\n"},
        {"advice",
         {{"read_mostly", true},
          {"no_migrate", true},
          {"preferred_location", "device 0"},
          {"accessed_by", {"host", "device 1"}},
          {"granularity", 65536},
          {"last_prefetch", "node 2"}}},
        {"pages",
         {{"total", 6},
          {"host", 3},
          {"duplicated", 2},
          {"exclusive", 1},
          {"untouched", 2},
          {"devices",
           {{{"id", 0}, {"pages", 1}, {"duplicates", 0}, {"mapped", 0}},
            {{"id", 1}, {"pages", 0}, {"duplicates", 2}, {"mapped", 3}}}}}},
    };
    EXPECT_EQ(to_json(example_range()), expected);
    EXPECT_EQ(what_is_wrong_with(expected, "range"), "");
    const json other = to_json(memory_range{base, base + page, "", {}, {}}), none = other["advice"];
    EXPECT_EQ(what_is_wrong_with(other, "range"), "");
    EXPECT_TRUE(none["preferred_location"].is_null());
    EXPECT_TRUE(none["granularity"].is_null());
    EXPECT_TRUE(none["last_prefetch"].is_null());
    EXPECT_TRUE(none["accessed_by"].empty());
}

// ---- residency

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
    made_up_memory memory(base, 10);
    memory.place_on_host(base, 3);
    memory.place_on_device(base + 3 * page, 4, 2);
    const auto scan = scan_residency(memory, {mapping_at(base, 10, "[heap]")}, false);
    ASSERT_EQ(scan.regions.size(), 1u);
    EXPECT_EQ(scan.regions[0].start, base);
    EXPECT_EQ(scan.regions[0].end, base + 10 * page);
    EXPECT_EQ(scan.regions[0].name, "[heap]");
    EXPECT_EQ(scan.regions[0].runs, (std::vector<run>{{base, 3, in_system_memory},
                                                      {base + 3 * page, 4, 2},
                                                      {base + 7 * page, 3, untouched}}));
    const auto counted = pages_by_place(scan.regions);
    EXPECT_EQ(counted[2], 4u);
    EXPECT_EQ(counted[in_system_memory], 3u);
    EXPECT_EQ(counted[untouched], 3u);
}

TEST(HmmctlResidency, JoinsAdjacentMappingsWithTheSameName) {
    made_up_memory memory(base, 6);
    memory.place_on_host(base, 6);
    const auto scan = scan_residency(memory,
                                     {mapping_at(base, 2), mapping_at(base + 2 * page, 2),
                                      mapping_at(base + 4 * page, 1, "[heap]"),
                                      mapping_at(base + 5 * page, 1, "[heap]")},
                                     false);
    ASSERT_EQ(scan.regions.size(), 2u);
    EXPECT_EQ(scan.regions[0].runs, (std::vector<run>{{base, 4, in_system_memory}}));
    EXPECT_EQ(scan.regions[1].runs, (std::vector<run>{{base + 4 * page, 2, in_system_memory}}));
}

TEST(HmmctlResidency, LeavesOutFilesThatNoDeviceHasUnlessAllIsWanted) {
    made_up_memory memory(base, 4);
    memory.place_on_host(base, 2);
    memory.place_on_device(base + page, 1, 0);
    memory.place_on_host(base + 2 * page, 1);
    const std::vector<tools::mapping> mappings = {mapping_at(base, 2, "/bin/used"),
                                                  mapping_at(base + 2 * page, 1, "/bin/not"),
                                                  mapping_at(base + 3 * page, 1)};
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
        memory, {mapping_at(base, 2), mapping_at(0xffffffffff600000, 1, "[vsyscall]")}, true);
    EXPECT_EQ(scan.changed, 1u);
    EXPECT_TRUE(scan.regions.empty());
}

// --- the map

TEST(HmmctlMap, HasACellForEachPageIfTheyFit) {
    const std::string map = draw({region_of(base,
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
    const std::string map = draw({region_of(base, {{cells, 0}, {cells, 1}, {5, 2}})}, narrow);
    EXPECT_EQ(rows_in(map), (std::vector<std::string>{std::string(cells, '0'),
                                                      std::string(cells, '1'), "22222"}));
    EXPECT_NE(map.find(fmt::format("\n{:x}  1", base + cells * page)), std::string::npos) << map;
}

TEST(HmmctlMap, TakesLargerCellsIfThereAreTooManyRows) {
    map_style style = narrow;
    style.rows = 2;
    const std::vector<region> regions = {region_of(base, {{cells * 5, 0}})};
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
    const std::vector<region> regions = {region_of(base, {{cells * 2, 0}}),
                                         region_of(base + 100 * page, {{1, 1}})};
    EXPECT_EQ(pages_of_cell(regions, style), 1u << 1);
    EXPECT_EQ(rows_in(draw(regions, style)).size(), 2u);
}

TEST(HmmctlMap, ShowsInACellWhereMostOfItsPagesAre) {
    map_style style = narrow;
    style.rows = 1;
    // cells of four pages
    const std::string map = draw({region_of(base, {{3, in_system_memory},
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
        draw({region_of(base, {{1, 0}, {gap, untouched}, {1, 1}, {cells * 3, untouched}})}, narrow);
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
                          std::string(cells - 1, '.'), "96.9 TiB", base + gap * page,
                          std::string(cells - 2, '.'), "216 KiB", gap + cells * 3));
}

TEST(HmmctlMap, FitsTheColumns) {
    for (const std::size_t columns : {40, 41, 80, 1000}) {
        map_style style = narrow;
        style.columns = columns;
        std::istringstream lines(
            draw({region_of(base, {{5000, 0}, {5000, in_system_memory}}, std::string(2000, 'x'))},
                 style));
        std::size_t longest = 0;
        for (std::string line; std::getline(lines, line) && !line.empty();)
            longest = std::max(longest, line.size());
        EXPECT_EQ(longest, columns);
    }
}

TEST(HmmctlMap, HasColoursOnlyIfWanted) {
    map_style style = narrow;
    const std::vector<region> regions = {region_of(base, {{2, 0}, {1, in_system_memory}})};
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
        const region of = region_of(base, {{700, 3}, {1, untouched}, {299, 3}});
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
