// SPDX-License-Identifier: MIT
// The counts of `hmmctl stats`, since the start and in an interval, and the rates of `hmmctl top`.
#include "hmmctl_failure.hpp"

#include "json_schema.hpp"
#include "stats.hpp"
#include "top.hpp"

using namespace hmmctl;

namespace {

/// A process with two devices.
process counting(std::uint64_t space, std::uint64_t value) {
    process of;
    of.pid = static_cast<pid_t>(space);
    of.mirrored.id = space;
    of.mirrored.counted = {{"cpu_faults", value}, {"blocks", 2 * value}};
    for (std::uint32_t id = 0; id < 2; id++) {
        bound_device device;
        device.id = id;
        device.binding = id + 1;
        device.used_bytes = 4096 * value;
        device.counted = {{"device_faults", value + id}, {"pending_faults", 3 * value}};
        of.mirrored.devices.push_back(device);
    }
    return of;
}

hmmrt_device_info counting_device(std::uint32_t id, std::uint64_t value) {
    hmmrt_device_info device = {};
    device.device_id = id;
    device.out_memory_bytes = 1 << 20;
    device.out_used_bytes = 4096 * value;
    device.out_evictions = 5 * value;
    device.out_free_chunks = 7;
    return device;
}

const counters& on_device(const stats& of, std::size_t place) {
    return of.devices.at(place).of_processes;
}

TEST(HmmctlStats, AddsAllProcesses) {
    const stats found = stats_between(nullptr, {{{counting(1, 10), counting(2, 100)}, 3}, {}});
    EXPECT_EQ(found.processes, 2u);
    EXPECT_EQ(found.unreadable, 3u);
    EXPECT_EQ(value_of(found.of_processes, "cpu_faults"), 110u);
    EXPECT_EQ(value_of(found.of_processes, "blocks"), 220u);
    ASSERT_EQ(found.devices.size(), 2u);
    EXPECT_EQ(found.devices[1].id, 1u);
    EXPECT_EQ(value_of(on_device(found, 0), "device_faults"), 110u);
    EXPECT_EQ(value_of(on_device(found, 1), "device_faults"), 112u);
    EXPECT_EQ(value_of(on_device(found, 1), "used_bytes"), 4096u * 110);
    EXPECT_FALSE(found.devices[0].own) << "it was not looked at";
}

TEST(HmmctlStats, SubtractsWhatWasCountedBefore) {
    const stats_sample earlier = {{{counting(1, 10), counting(9, 1000)}, 0},
                                  {counting_device(0, 2)}};
    const stats_sample now = {{{counting(1, 13), counting(2, 100)}, 0}, {counting_device(0, 6)}};
    const stats found = stats_between(&earlier, now);
    EXPECT_EQ(value_of(found.of_processes, "cpu_faults"), 3u + 100) << "process 2 is new";
    EXPECT_EQ(value_of(on_device(found, 0), "device_faults"), 3u + 100);
    ASSERT_TRUE(found.devices.at(0).own);
    EXPECT_EQ(value_of(*found.devices[0].own, "evictions"), 20u);
}

TEST(HmmctlStats, KeepsWhatIsNoCounter) {
    const stats_sample earlier = {{{counting(1, 10)}, 0}, {counting_device(0, 2)}};
    const stats_sample now = {{{counting(1, 12)}, 0}, {counting_device(0, 6)}};
    const stats found = stats_between(&earlier, now);
    EXPECT_EQ(value_of(found.of_processes, "blocks"), 24u);
    EXPECT_EQ(value_of(on_device(found, 0), "pending_faults"), 36u);
    EXPECT_EQ(value_of(on_device(found, 0), "used_bytes"), 4096u * 12);
    ASSERT_TRUE(found.devices.at(0).own);
    EXPECT_EQ(value_of(*found.devices[0].own, "used_bytes"), 4096u * 6);
    EXPECT_EQ(value_of(*found.devices[0].own, "free_bytes"), (1u << 20) - 4096u * 6);
    EXPECT_EQ(value_of(*found.devices[0].own, "free_chunks"), 7u);
}

TEST(HmmctlStats, CountsADeviceThatWasBoundAgainFromZero) {
    const process_scan earlier = {{counting(1, 10)}, 0};
    process_scan now = {{counting(1, 12)}, 0};
    now.processes[0].mirrored.devices[0].binding = 7;
    const stats_sample before = {earlier, {}};
    const stats found = stats_between(&before, {now, {}});
    EXPECT_EQ(value_of(on_device(found, 0), "device_faults"), 12u);
    EXPECT_EQ(value_of(on_device(found, 1), "device_faults"), 2u);
}

TEST(HmmctlStats, HasNoNegativeCounts) {
    const stats_sample earlier = {{{counting(1, 10)}, 0}, {}};
    const stats found = stats_between(&earlier, {{{counting(1, 4)}, 0}, {}});
    EXPECT_EQ(value_of(found.of_processes, "cpu_faults"), 0u);
    EXPECT_EQ(value_of(on_device(found, 0), "device_faults"), 0u);
}

TEST(HmmctlStats, HasTheKnownCountersWithoutAProcess) {
    const stats found = stats_between(nullptr, {{}, {counting_device(3, 1)}});
    EXPECT_EQ(
        found.of_processes,
        (counters{
            {"migrated_to_host", 0}, {"cpu_faults", 0}, {"invalidations", 0}, {"blocks", 0}}));
    ASSERT_EQ(found.devices.size(), 1u);
    EXPECT_EQ(found.devices[0].id, 3u);
    EXPECT_EQ(on_device(found, 0).size(), 24u);
    EXPECT_EQ(on_device(found, 0).at(1), (counters::value_type{"device_faults", 0}));
}

stats selected(const std::vector<std::string>& parts) {
    stats found = stats_between(nullptr, {{{counting(1, 10)}, 0}, {counting_device(0, 2)}});
    select_counters(found, parts);
    return found;
}

TEST(HmmctlStats, SelectsCountersByPartsOfTheirNames) {
    const stats found = selected({"cpu_f", "evictions_ahead", "pending"});
    EXPECT_EQ(found.of_processes, (counters{{"cpu_faults", 10}}));
    EXPECT_EQ(on_device(found, 0), (counters{{"pending_faults", 30}}));
    EXPECT_EQ(on_device(found, 1), (counters{{"pending_faults", 30}}));
    EXPECT_EQ(found.devices[0].own, (counters{{"evictions_ahead", 0}}));
    EXPECT_EQ(selected({}).of_processes.size(), 4u);
    EXPECT_TRUE(mentions(failure_of([] { selected({"faults", "frob"}); }), {"no counter", "frob"}));
}

TEST(HmmctlStats, PrintsATableForProcessesAndOneForDevices) {
    stats found = selected({"cpu_faults", "device_faults", "evictions_ahead"});
    EXPECT_EQ(text_of(found, 0, std::nullopt), "1 process\n"
                                               "COUNTER        ALL  DEVICE 0  DEVICE 1\n"
                                               "cpu_faults      10         -         -\n"
                                               "device_faults   21        10        11\n"
                                               "\n"
                                               "Device counters\n"
                                               "COUNTER          ALL  DEVICE 0\n"
                                               "evictions_ahead    0         0\n");
    found.unreadable = 2;
    found.devices[0].own.reset();
    found.of_processes[0].second = 0;
    const std::string text = text_of(found, 0, 1.5);
    const std::string title = text.substr(0, text.find('\n') + 1);
    EXPECT_TRUE(mentions(title, {"1 process,", " 2 without permission", " 1.50 seconds\n"}));
    EXPECT_EQ(text.substr(title.size()), "COUNTER        ALL  DEVICE 0  DEVICE 1\n"
                                         "device_faults   21        10        11\n")
        << "without what did not change";
    EXPECT_EQ(text_of({}, 12, std::nullopt), "Process 12\nCOUNTER  ALL\n");
}

TEST(HmmctlStats, PrintsJson) {
    const stats found = selected({"cpu_faults", "device_faults", "evictions_ahead"});
    EXPECT_EQ(what_is_wrong_with(to_json(found, 0, std::nullopt), "stats"), "");
    EXPECT_EQ(to_json(found, 0, std::nullopt), json::parse(R"({
        "pid": null, "seconds": null, "processes": 1, "unreadable_processes": 0,
        "counters": {"cpu_faults": 10},
        "devices": [
            {"id": 0, "counters": {"device_faults": 10}, "device": {"evictions_ahead": 0}},
            {"id": 1, "counters": {"device_faults": 11}, "device": null}]})"));
    EXPECT_EQ(json_line("stats", to_json({}, 5, 0.5)),
              R"({"schema":1,"stats":{"pid":5,"seconds":0.5,"processes":0,)"
              R"("unreadable_processes":0,"counters":{},"devices":[]}})"
              "\n");
}

// --- top

process used(std::uint64_t space, std::uint64_t binding, std::uint64_t value) {
    process of;
    of.pid = static_cast<pid_t>(space);
    of.name = "p\x1b";
    of.mirrored.id = space;
    of.mirrored.counted = {{"migrated_to_host", value}, {"cpu_faults", 2 * value}};
    bound_device device;
    device.binding = binding;
    device.used_bytes = 4096;
    device.counted = {{"device_faults", 3 * value},
                      {"migrated_to_device", 4 * value},
                      {"evictions", 5 * value},
                      {"evicted_pages", 6 * value}};
    of.mirrored.devices.push_back(device);
    return of;
}

TEST(HmmctlTop, DividesDifferencesByTheTime) {
    const process_scan earlier = {{used(1, 1, 10)}, 0}, now = {{used(1, 1, 14)}, 0};
    const auto rates = rates_between(earlier, now, 2, 4096);
    ASSERT_EQ(rates.size(), 1u);
    EXPECT_DOUBLE_EQ(rates[0].device_faults, 6);
    EXPECT_DOUBLE_EQ(rates[0].cpu_faults, 4);
    EXPECT_DOUBLE_EQ(rates[0].bytes_to_devices, 8 * 4096);
    EXPECT_DOUBLE_EQ(rates[0].bytes_to_host, 14 * 4096);
    EXPECT_DOUBLE_EQ(rates[0].evictions, 10);
}

TEST(HmmctlTop, CountsFromZeroWhatIsNew) {
    const process_scan earlier = {{used(1, 1, 100)}, 0};
    const process_scan now = {{used(1, 2, 101), used(2, 1, 7)}, 0};
    const auto rates = rates_between(earlier, now, 1, 1);
    ASSERT_EQ(rates.size(), 2u);
    EXPECT_EQ(rates[0].of.pid, 1);
    EXPECT_DOUBLE_EQ(rates[0].device_faults, 303) << "the device was bound again";
    EXPECT_DOUBLE_EQ(rates[0].cpu_faults, 2);
    EXPECT_DOUBLE_EQ(rates[1].device_faults, 21);
}

TEST(HmmctlTop, HasTheMostFaultsFirst) {
    const process_scan now = {{used(1, 1, 1), used(2, 1, 9), used(3, 1, 5)}, 0};
    const auto rates = rates_between({}, now, 1, 1 << 20);
    ASSERT_EQ(rates.size(), 3u);
    EXPECT_EQ(rates[0].of.pid, 2);
    EXPECT_EQ(rates[2].of.pid, 1);
    EXPECT_EQ(first_lines(text_of(rates), 2),
              "PID   USED  FAULTS/S  CPU FAULTS/S  IN MiB/S  OUT MiB/S  EVICTIONS/S  NAME\n"
              "  2  4 KiB      27.0          18.0      36.0       63.0         45.0  p?\n");
}

TEST(HmmctlTop, CutsALongTable) {
    EXPECT_EQ(first_lines("a\nb\nc\n", 2), "a\nb\n");
    EXPECT_EQ(first_lines("a\nb", 5), "a\nb");
    EXPECT_EQ(first_lines("a\n", 0), "");
    EXPECT_EQ(first_lines("", 1), "");
}

} // namespace
