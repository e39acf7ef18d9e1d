// SPDX-License-Identifier: MIT
// Summaries of events in hmmctl: sums, their texts, and names.
#include "hmmctl_report.hpp"

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

} // namespace
