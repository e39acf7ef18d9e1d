// SPDX-License-Identifier: MIT
// How `hmmctl range list` interprets the module's answers.
#include "hmmctl_memory.hpp"

#include "failure.hpp"
#include "json_schema.hpp"
#include "memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace hmmctl;
using namespace hmmctl_tests;

namespace {

constexpr std::uint64_t base = 0x100000000000;

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

TEST(HmmctlParts, AreNoneIfSomethingIsNotMapped) {
    made_up_memory memory(base, 3);
    EXPECT_FALSE(parts_of(memory, base, base + 4 * page));
}

TEST(HmmctlParts, TakeAModuleThatTellsWhereTheyEnd) {
    made_up_memory memory(base, 3);
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

memory_range example() {
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
    EXPECT_EQ(text_of(std::vector{example()}, {1}),
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
    EXPECT_EQ(to_json(example()), expected);
    EXPECT_EQ(what_is_wrong_with(expected, "range"), "");
    const json other = to_json(memory_range{base, base + page, "", {}, {}}), none = other["advice"];
    EXPECT_EQ(what_is_wrong_with(other, "range"), "");
    EXPECT_TRUE(none["preferred_location"].is_null());
    EXPECT_TRUE(none["granularity"].is_null());
    EXPECT_TRUE(none["last_prefetch"].is_null());
    EXPECT_TRUE(none["accessed_by"].empty());
}

} // namespace
