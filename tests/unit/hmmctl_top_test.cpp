// SPDX-License-Identifier: MIT
// The rates that `hmmctl top` shows.
#include "top.hpp"

#include <gtest/gtest.h>

using namespace hmmctl;

namespace {

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
