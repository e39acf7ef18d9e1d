// SPDX-License-Identifier: MIT
// Statistics of a device count faults, migrations and launches.
#include "capability.hpp"
#include "device_fixture.hpp"

#include <cstring>
#include <span>
#include <utility>

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t bytes = 2 << 20;
constexpr std::size_t pages = bytes / page;

class Statistics : public OnDevice {
  protected:
    Statistics() { std::memset(memory_.data(), 1, bytes); }

    long sum() const {
        long result = 0;
        for (const unsigned char value : memory_)
            result += value;
        return result;
    }

    // A whole block, so that no other memory moves along.
    const hmm::managed_memory<unsigned char> owner_ = hmm::managed_memory<unsigned char>(bytes);
    const std::span<unsigned char> memory_ = owner_.get();
};

TEST_F(Statistics, OfADeviceThatIsNotStartedAreZero) {
    const hmmStats found = hmm::stats(), zero = {};
    EXPECT_EQ(std::memcmp(&found, &zero, sizeof(found)), 0);
}

TEST_F(Statistics, CountLaunches) {
    expect_usable();
    const std::uint64_t before = hmm::stats().launches;
    expect_usable();
    expect_usable();
    EXPECT_EQ(hmm::stats().launches, before + 2);
}

TEST_F(Statistics, CountPagesThatFaultsMoveThereAndBack) {
    NEEDS_PAGES_THAT_MOVE();
    expect_usable();
    const hmmStats before = hmm::stats();
    on_device([memory = memory_] {
        for (std::size_t i = 0; i < bytes; i += page)
            memory[i]++;
    });
    ASSERT_TRUE(hmm::residency(memory_).all_on(hmm::device(0)));
    const hmmStats moved = hmm::stats();
    EXPECT_GT(moved.deviceFaults, before.deviceFaults);
    EXPECT_GE(moved.pagesToDevice, before.pagesToDevice + pages);
    EXPECT_GE(moved.pagesMapped, before.pagesMapped + pages);
    EXPECT_EQ(sum(), static_cast<long>(bytes + pages));
    const hmmStats back = hmm::stats();
    EXPECT_GT(back.cpuFaults, moved.cpuFaults);
    EXPECT_GE(back.pagesToHost, moved.pagesToHost + pages);
    EXPECT_EQ(back.failedFaults, 0u);
}

TEST_F(Statistics, CountDuplicatesOfReadMostlyPages) {
    NEEDS_PAGES_THAT_MOVE();
    expect_usable();
    hmm::advise(memory_, hmm::read_mostly);
    const hmmStats before = hmm::stats();
    hmm::prefetch(memory_, hmm::device(0));
    hmm::synchronize();
    EXPECT_EQ(hmm::stats().duplicates, before.duplicates + pages);
    EXPECT_TRUE(hmm::residency(memory_).all_on(hmm::host));
}

TEST_F(Statistics, OfTheCpuDeviceAreLaunchesOnly) {
    if (!is_cpu_device()) GTEST_SKIP() << "a device of the modules counts more";
    on_device([memory = memory_] { memory[0]++; });
    hmm::prefetch(memory_, hmm::device(0));
    hmm::synchronize();
    hmmStats found = hmm::stats();
    EXPECT_EQ(std::exchange(found.launches, 0), 1u);
    const hmmStats zero = {};
    EXPECT_EQ(std::memcmp(&found, &zero, sizeof(found)), 0);
}

} // namespace
