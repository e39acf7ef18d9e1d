// SPDX-License-Identifier: MIT
// Summaries of events in hmmctl: sums, their texts and names, and annotations.
#include "hmmctl_report.hpp"

#include "annotations.hpp"
#include "event_names.hpp"

using namespace hmmctl;

namespace {

summary sums_of(const std::vector<hmmrt_event>& events) {
    summary sums;
    sums.add(events);
    return sums;
}

tally made(std::uint64_t count, std::uint64_t pages, std::uint64_t nanoseconds, std::uint64_t min,
           std::uint64_t max) {
    return {count, pages, nanoseconds, min, max};
}

TEST(HmmctlSummary, OfNothingIsEmpty) {
    const summary sums = sums_of({});
    EXPECT_TRUE(sums.devices().empty());
    EXPECT_EQ(sums.events(), 0u);
    EXPECT_TRUE(sums.hottest_blocks(10).empty());
}

TEST(HmmctlSummary, AddsMigrationsByDirection) {
    const summary sums = sums_of({
        migration(HMMRT_LOCATION_HOST, 0, 10, 100),
        migration(HMMRT_LOCATION_HOST_NODE(1), 0, 512, 50),
        migration(HMMRT_LOCATION_NONE, 0, 1),
        migration(0, HMMRT_LOCATION_HOST, 3, 7),
        migration(0, HMMRT_LOCATION_HOST, 5, 9, HMMRT_CAUSE_EVICTION),
        migration(0, 1, 2, 4),
        migration(HMMRT_LOCATION_HOST, HMMRT_LOCATION_HOST_NODE(0), 99, 99),
    });
    ASSERT_EQ(sums.devices().size(), 2u);
    const device_summary& first = sums.devices().at(0);
    EXPECT_EQ(first.host_to_device, made(3, 523, 150, 1, 512));
    EXPECT_EQ(first.device_to_host, made(2, 8, 16, 3, 5));
    EXPECT_EQ(first.evicted, made(1, 5, 9, 5, 5));
    EXPECT_EQ(first.device_to_device, tally());
    device_summary second;
    second.device_to_device = made(1, 2, 4, 2, 2);
    EXPECT_EQ(sums.devices().at(1), second);
}

TEST(HmmctlSummary, AddsFaultsAndTheirPhases) {
    hmmrt_event merged = device_fault(3, 0x200000);
    merged.parent = 1;
    hmmrt_event cpu = event_of(HMMRT_EVENT_CPU_FAULT);
    cpu.addr = 0x200000;
    cpu.pages = 16;
    cpu.duration = cpu.phase[HMMRT_PHASE_COPY] = 11;
    const summary sums =
        sums_of({device_fault(3, 0x1ff000), merged, device_fault(3, 0, 0, -14), cpu});
    const device_summary& device = sums.devices().at(3);
    EXPECT_EQ(device.faults.count, 2u);
    EXPECT_EQ(device.faults.nanoseconds, 1400u);
    EXPECT_EQ(device.failed_faults.count, 1u);
    EXPECT_EQ(device.answered_faults.count, 1u);
    EXPECT_EQ(device.phases, (phase_times{75, 150, 225, 300, 375, 450, 525}));
    EXPECT_EQ(sums.cpu_faults(), made(1, 16, 11, 16, 16));
    EXPECT_EQ(sums.cpu_phases()[HMMRT_PHASE_COPY], 11u);
}

TEST(HmmctlSummary, AddsOtherEventsOfADevice) {
    std::vector<hmmrt_event> events;
    for (const auto type : {HMMRT_EVENT_FAULT_BATCH, HMMRT_EVENT_REPLAY, HMMRT_EVENT_EVICTION,
                            HMMRT_EVENT_DUPLICATE, HMMRT_EVENT_DUPLICATE_DROP, HMMRT_EVENT_MAP,
                            HMMRT_EVENT_MAP_REMOTE, HMMRT_EVENT_THROTTLE, HMMRT_EVENT_REFUSAL}) {
        events.push_back(event_of(type));
        events.back().device = 0;
        events.back().pages = type;
    }
    device_summary expected;
    std::size_t next = 0;
    for (tally* of : {&expected.batches, &expected.replays, &expected.evictions,
                      &expected.duplicates, &expected.dropped_duplicates, &expected.maps,
                      &expected.remote_maps, &expected.throttles, &expected.refusals})
        of->add(events[next++]);
    EXPECT_EQ(sums_of(events).devices().at(0), expected);
}

TEST(HmmctlSummary, CountsThrashingByStepAlsoWithoutADevice) {
    hmmrt_event pinned = event_of(HMMRT_EVENT_THRASHING);
    pinned.reason = HMMRT_EVENT_THRASHING_PINNED;
    hmmrt_event later = pinned;
    later.reason = 77;
    const summary sums = sums_of({pinned, pinned, later});
    EXPECT_EQ(sums.devices().at(HMMRT_LOCATION_NONE).thrashing,
              (std::array<std::uint64_t, 5>{0, 0, 2, 0, 0}));
}

TEST(HmmctlSummary, HasNoDeviceForEventsThatAddUpToNothing) {
    hmmrt_event bind = event_of(HMMRT_EVENT_BIND);
    bind.device = 0;
    const summary sums =
        sums_of({bind, event_of(HMMRT_EVENT_ADVISE), event_of(HMMRT_EVENT_PREFETCH)});
    EXPECT_TRUE(sums.devices().empty());
    EXPECT_EQ(sums.events(), 3u);
}

TEST(HmmctlSummary, TakesTypesOfLaterModules) {
    hmmrt_event later = event_of(HMMRT_EVENT_MAP);
    later.type = 0xffff;
    hmmrt_event none = event_of(HMMRT_EVENT_MAP);
    none.type = 0;
    const summary sums = sums_of({later, none});
    EXPECT_EQ(sums.events(), 2u);
    EXPECT_EQ(sums.types()[HMMRT_EVENT_TYPES], 1u);
    EXPECT_TRUE(sums.devices().empty());
}

TEST(HmmctlSummary, FindsTheBlocksAndInstructionsWithTheMostFaults) {
    const summary sums = sums_of({device_fault(0, 0x200000, 0x10), device_fault(0, 0x3fffff, 0x10),
                                  device_fault(0, 0x400000, 0x20), device_fault(0, 0x600000)});
    const summary::hot blocks = sums.hottest_blocks(2);
    ASSERT_EQ(blocks.size(), 2u);
    EXPECT_EQ(blocks[0].first, (summary::place{tested_space, 0x200000}));
    EXPECT_EQ(blocks[0].second.device_faults, 2u);
    EXPECT_EQ(blocks[1].first.addr, 0x400000u);
    const summary::hot code = sums.hottest_code(10);
    ASSERT_EQ(code.size(), 2u) << "a fault without an instruction is of none";
    EXPECT_EQ(code[0].first.addr, 0x10u);
    EXPECT_EQ(code[0].second.nanoseconds, 1400u);
}

// --- texts

profiled small() {
    profiled of({migration(HMMRT_LOCATION_HOST, 0, 1, 1000),
                 migration(HMMRT_LOCATION_HOST, 0, 3, 2000), device_fault(0, 0x200000, 0x99)});
    of.header.devices.push_back({0, "gpu", 1 << 30});
    of.dropped[HMMRT_EVENT_MAP] = 4;
    return of;
}

TEST(HmmctlSummaryText, HasTheLayoutOfNvprof) {
    const std::string text = text_of(small().what());
    EXPECT_TRUE(text.starts_with(
        "Unified memory profiling result:\n"
        "Device \"gpu (0)\"\n"
        "  Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name\n"
        "      2     8 KiB     4 KiB    12 KiB      16 KiB     3.00 us  Host To Device\n"
        "      1         -         -         -           -      700 ns  Device faults\n"
        "Total CPU faults: 0\n"))
        << text;
    EXPECT_TRUE(mentions(text, {"\n  100.0%              1           0  1234  0x200000\n",
                                "\n  100.0%       1  700 ns  -       ?         0x99\n",
                                "\n4 events ", "ring was full: 4 map\n"}));
}

TEST(HmmctlSummaryText, OfNothingSaysSo) {
    EXPECT_EQ(text_of(profiled().what()), "Unified memory profiling result:\n"
                                          "Total CPU faults: 0\n");
}

TEST(HmmctlSummaryJson, HasTheSums) {
    const json found = to_json(small().what());
    EXPECT_EQ(what_is_wrong_with(found, "profile"), "");
    EXPECT_TRUE(has_fields(found, R"({"events": 3, "dropped_events": 4})"));
    EXPECT_EQ(found["types"]["map"], json::parse(R"({"recorded": 0, "dropped": 4})"));
    EXPECT_EQ(found["types"]["migration"]["recorded"], 2);
    ASSERT_EQ(found["devices"].size(), 1u);
    EXPECT_TRUE(has_fields(found["devices"][0], R"({"name": "gpu", "phases": {"replay": 175}})"));
    EXPECT_EQ(found["devices"][0]["host_to_device"], json::parse(R"({
        "count": 2, "bytes": 16384, "min_bytes": 4096, "max_bytes": 12288, "nanoseconds": 3000})"));
    EXPECT_EQ(found["blocks"][0]["pid"], tested_pid);
    EXPECT_EQ(found["code"][0]["place"], "0x99");
}

TEST(HmmctlText, HasTimesWithUnits) {
    EXPECT_EQ(time_text(0), "0 ns");
    EXPECT_EQ(time_text(999), "999 ns");
    EXPECT_EQ(time_text(1000), "1.00 us");
    EXPECT_EQ(time_text(999'994), "999.99 us");
    EXPECT_EQ(time_text(999'995), "1.00 ms");
    EXPECT_EQ(time_text(999'995'000), "1.00 s");
    EXPECT_EQ(time_text(61'000'000'000), "61.00 s");
}

// --- names

TEST(HmmctlNames, AreTheOnesOfTheInterface) {
    EXPECT_EQ(type_name(HMMRT_EVENT_BIND), "bind");
    EXPECT_EQ(type_name(HMMRT_EVENT_ADVISE), "advise");
    EXPECT_EQ(type_name(1000), "1000");
    EXPECT_EQ(cause_name(HMMRT_CAUSE_ACCESS_COUNTER), "access_counter");
    EXPECT_EQ(phase_name(HMMRT_PHASE_REPLAY), "replay");
    EXPECT_EQ(access_name(HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE), "rw");
}

TEST(HmmctlNames, OfReasonsDependOnTheType) {
    hmmrt_event event = device_fault(0, 0);
    event.reason = 2;
    EXPECT_EQ(reason_name(event), "no_migrate");
    event.type = HMMRT_EVENT_THRASHING;
    EXPECT_EQ(reason_name(event), "pinned");
    event.type = HMMRT_EVENT_ADVISE;
    EXPECT_EQ(reason_name(event), "unset_read_mostly");
    event.type = HMMRT_EVENT_REFUSAL;
    EXPECT_EQ(reason_name(event), "pinned");
    event.type = HMMRT_EVENT_INVALIDATE;
    EXPECT_EQ(reason_name(event), "protection_vma");
    event.type = HMMRT_EVENT_MAP;
    EXPECT_EQ(reason_name(event), "2");
    event.reason = 0;
    EXPECT_EQ(reason_name(event), "");
}

TEST(HmmctlNames, OfLocationsTellDevicesNodesAndTheHost) {
    EXPECT_EQ(location_name(3), "device 3");
    EXPECT_EQ(location_name(HMMRT_LOCATION_HOST), "host");
    EXPECT_EQ(location_name(HMMRT_LOCATION_NONE), "none");
    EXPECT_EQ(location_name(HMMRT_LOCATION_HOST_NODE(2)), "node 2");
}

// ---- annotations

memory_names names_of(const std::vector<hmmrt_event>& events) {
    memory_names names;
    for (const hmmrt_event& event : events)
        names.add(event, page);
    return names;
}

/// The names of pages 0 to 7, one letter each; `-` is a page without a name.
std::string letters(const memory_names& names) {
    std::string all;
    for (std::uint64_t i = 0; i < 8; i++) {
        const std::string name = names.at(tested_space, i * page);
        all += name.empty() ? "-" : name;
    }
    return all;
}

TEST(HmmctlNames, ReplaceThoseThatTheRangeHad) {
    const auto a = name_of_memory(page, 6, "a");
    EXPECT_EQ(letters(names_of({})), "--------");
    EXPECT_EQ(letters(names_of({a})), "-aaaaaa-");
    EXPECT_EQ(letters(names_of({a, name_of_memory(3 * page, 2, "b")})), "-aabbaa-");
    EXPECT_EQ(letters(names_of({a, name_of_memory(0, 2, "b")})), "bbaaaaa-");
    EXPECT_EQ(letters(names_of({a, name_of_memory(5 * page, 3, "b")})), "-aaaabbb");
    EXPECT_EQ(letters(names_of({a, name_of_memory(page, 6, "b")})), "-bbbbbb-");
    EXPECT_EQ(letters(names_of({a, name_of_memory(0, 8, "b")})), "bbbbbbbb");
    EXPECT_EQ(letters(names_of({a, name_of_memory(2 * page, 3, "")})), "-a---aa-");
    EXPECT_EQ(
        letters(names_of({a, name_of_memory(3 * page, 1, "b"), name_of_memory(5 * page, 1, "c"),
                          name_of_memory(2 * page, 4, "d")})),
        "-adddda-");
}

TEST(HmmctlNames, BeginAtTheirFirstByteAndEndWithTheirLastPage) {
    const memory_names names = names_of({name_of_memory(page + 8, 2, "a")});
    EXPECT_EQ(names.at(tested_space, page + 7), "");
    EXPECT_EQ(names.at(tested_space, page + 8), "a");
    EXPECT_EQ(names.at(tested_space, 3 * page - 1), "a");
    EXPECT_EQ(names.at(tested_space, 3 * page), "");
    EXPECT_EQ(names.at(tested_space + 1, page + 8), "") << "of another space";
}

TEST(HmmctlNames, ShareAPage) {
    const auto low = name_of_memory(page + 8, 2, "low"),
               high = name_of_memory(2 * page + 64, 1, "high");
    for (const memory_names& names : {names_of({low, high}), names_of({high, low})}) {
        EXPECT_EQ(names.at(tested_space, page), "low") << "a fault of the CPU on its first page";
        EXPECT_EQ(names.at(tested_space, 2 * page), "low");
        EXPECT_EQ(names.at(tested_space, 2 * page + 63), "low");
        EXPECT_EQ(names.at(tested_space, 2 * page + 64), "high");
    }
    const memory_names small = names_of({name_of_memory(page + 64, 1, "small")});
    EXPECT_EQ(small.at(tested_space, page), "small");
    EXPECT_EQ(small.at(tested_space, page + 63), "");
}

TEST(HmmctlNames, OfDamagedEventsHarmNothing) {
    EXPECT_EQ(letters(names_of({name_of_memory(page, 1ull << 52, "a"), name_of_memory(page, 0, "b"),
                                name_of_memory(~0ull, ~0ull, "c"), name_of_memory(page, 1, "d")})),
              "-d------");
}

hmmrt_event at(hmmrt_event event, std::uint64_t time, std::uint64_t duration = 0) {
    event.time = time;
    event.duration = duration;
    return event;
}

TEST(HmmctlAnnotations, CountTheFaultsOfNamedMemory) {
    hmmrt_event cpu = event_of(HMMRT_EVENT_CPU_FAULT);
    cpu.addr = page;
    const profiled of({device_fault(0, page), name_of_memory(0, 2, "early"),
                       device_fault(0, page, 0x10), device_fault(0, page, 0x10),
                       name_of_memory(page, 1, "late"), device_fault(0, page, 0x10), cpu,
                       device_fault(0, 8 * page, 0x20)});
    const json found = to_json(of.what());
    EXPECT_EQ(what_is_wrong_with(found, "profile"), "");
    ASSERT_EQ(found["names"].size(), 2u);
    EXPECT_TRUE(has_fields(found["names"][0], R"({
        "name": "early", "pid": 1234, "device_faults": 2, "cpu_faults": 0, "nanoseconds": 1400})"));
    EXPECT_TRUE(
        has_fields(found["names"][1], R"({"name": "late", "device_faults": 1, "cpu_faults": 1})"));
    ASSERT_EQ(found["code"].size(), 2u);
    EXPECT_EQ(found["code"][0]["memory"], "early") << "two of three faults";
    EXPECT_EQ(found["code"][1]["memory"], "");
}

TEST(HmmctlAnnotations, CountTheFaultsInEachSection) {
    hmmrt_event other = at(device_fault(0, 0), 150);
    other.space++;
    const profiled of({at(device_fault(0, 0), 99), at(device_fault(0, 0), 200),
                       at(device_fault(0, 0), 100), other, at(device_fault(0, 0), 201),
                       at(annotation(HMMRT_EVENT_SECTION, "step"), 200, 100),
                       at(annotation(HMMRT_EVENT_SECTION, "step"), 300, 60),
                       at(annotation(HMMRT_EVENT_SECTION, "all"), 400, 399)});
    const json profile = to_json(of.what()), found = profile["sections"];
    EXPECT_EQ(what_is_wrong_with(profile, "profile"), "");
    ASSERT_EQ(found.size(), 2u);
    EXPECT_TRUE(has_fields(
        found[0], R"({"name": "all", "count": 1, "nanoseconds": 399, "device_faults": 4})"));
    EXPECT_TRUE(has_fields(
        found[1], R"({"name": "step", "count": 2, "nanoseconds": 160, "device_faults": 2})"))
        << "with the faults at its first and at its last moment";
}

TEST(HmmctlAnnotations, AreInTheTextWithoutWhatControlsATerminal) {
    const profiled of({name_of_memory(0, 1, "gr\x1b[2Jid"), device_fault(0, 0, 0x10),
                       at(annotation(HMMRT_EVENT_SECTION, "so\nlve"), 300, 60)});
    const std::string text = text_of(of.what());
    EXPECT_TRUE(mentions(text, {"Named memory with the most faults", "gr?[2Jid", "so?lve"}));
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    const std::string none = text_of(profiled({device_fault(0, 0, 0x10)}).what());
    EXPECT_EQ(none.find("Named memory"), std::string::npos) << none;
    EXPECT_EQ(none.find("Sections"), std::string::npos) << none;
}

trace some_trace() {
    trace of;
    of.events = {at(annotation(HMMRT_EVENT_SECTION, "so,l\"ve"), 3000, 1000),
                 at(annotation(HMMRT_EVENT_MARK, "here"), 4000),
                 at(name_of_memory(page, 2, "grid"), 5000)};
    return of;
}

TEST(HmmctlAnnotations, AreSlicesOfAChromeTrace) {
    const json found = json::parse(exported(export_chrome, some_trace()))["traceEvents"];
    ASSERT_EQ(found.size(), 3u);
    EXPECT_TRUE(has_fields(found[0], R"({"ph": "X", "name": "so,l\"ve", "ts": 2, "dur": 1})"));
    EXPECT_TRUE(has_fields(found[1], R"({"ph": "i", "name": "here"})"));
    EXPECT_TRUE(has_fields(found[2], R"({"name": "name", "args": {"text": "grid"}})"));
}

TEST(HmmctlAnnotations, AreTextsOfOtherFormats) {
    const json answer = json::parse(exported(export_json, some_trace())), found = answer["events"];
    EXPECT_EQ(what_is_wrong_with(answer, "answer_of_trace_export"), "");
    EXPECT_TRUE(has_fields(found[0], R"({"type": "section", "text": "so,l\"ve"})"));
    EXPECT_EQ(found[1]["type"], "mark");
    EXPECT_TRUE(has_fields(found[2], R"({"type": "name", "pages": 2})"));
    EXPECT_TRUE(mentions(exported(export_csv, some_trace()), {",\"so,l\"\"ve\"\n"}));
}

} // namespace
