// SPDX-License-Identifier: MIT
// Statistics: the requests to the modules, and how their counts map to ours.
#include "memory_fixture.hpp"

#include <cerrno>
#include <cstring>

using fakes::kernel;

namespace {

class Stats : public MemoryOverFakes {
  protected:
    static bool all_zero(const hmmStats& stats) {
        const hmmStats zero = {};
        return std::memcmp(&stats, &zero, sizeof(stats)) == 0;
    }
};

TEST_F(Stats, EachCountHasItsMember) {
    hmm::launch(1, [](std::size_t) {});
    hmm::synchronize();
    const hmmStats found = hmm::stats();
    EXPECT_EQ(kernel.policy.queries.back().device_id, kernel.devices[0].id);
    EXPECT_EQ(found.launches, 1u);
    EXPECT_EQ(found.deviceFaults, 1u);
    EXPECT_EQ(found.failedFaults, 2u);
    EXPECT_EQ(found.pagesMapped, 3u);
    EXPECT_EQ(found.pagesRemote, 4u);
    EXPECT_EQ(found.pagesToDevice, 5u);
    EXPECT_EQ(found.pagesToHost, 6u);
    EXPECT_EQ(found.cpuFaults, 7u);
    EXPECT_EQ(found.invalidations, 8u);
    EXPECT_EQ(found.retries, 9u);
    EXPECT_EQ(found.duplicates, 10u);
    EXPECT_EQ(found.evictions, 11u);
    EXPECT_EQ(found.pagesEvicted, 12u);
    EXPECT_EQ(found.thrashing, 19u);
    EXPECT_EQ(found.throttledFaults, 20u);
    EXPECT_EQ(found.thrashPins, 21u);
    EXPECT_EQ(found.countedMoves, 23u);
    EXPECT_EQ(found.quotaRefusals, 24u);
    EXPECT_EQ(found.memoryRefusals, 25u);
    for (const std::uint64_t reserved : found.reserved)
        EXPECT_EQ(reserved, 0u);
}

TEST_F(Stats, OfADeviceThatIsNotStartedAreZeroAndStartNothing) {
    const int agents = kernel.agents_started;
    EXPECT_TRUE(all_zero(hmm::stats(hmm::device(1))));
    EXPECT_EQ(kernel.agents_started, agents);
    EXPECT_TRUE(kernel.policy.queries.empty());
    EXPECT_EQ(hmm::current_device(), hmm::device(0));
}

TEST_F(Stats, LaunchesAreKernelsCopiesAndFillsUntilAReset) {
    char from[4] = "abc", to[4] = "";
    hmm::launch(1, [](std::size_t) {});
    EXPECT_EQ(hmmMemcpyAsync(to, from, sizeof(to), hmmMemcpyDefault, 0), hmmSuccess);
    EXPECT_EQ(hmmMemsetAsync(to, 0, sizeof(to), 0), hmmSuccess);
    hmm::event after;
    hmm::default_stream.record(after);
    hmm::synchronize();
    EXPECT_EQ(hmm::stats().launches, 3u);
    hmm::reset();
    EXPECT_TRUE(all_zero(hmm::stats()));
    hmm::launch(1, [](std::size_t) {});
    hmm::synchronize();
    EXPECT_EQ(hmm::stats().launches, 1u);
}

TEST_F(Stats, ErrorsOfTheKernelAreTold) {
    hmm::launch(1, [](std::size_t) {});
    hmm::synchronize();
    hmmStats found;
    kernel.policy.stats_error = ENOTTY;
    EXPECT_EQ(hmmGetStats(&found), hmmErrorInsufficientDriver);
    kernel.policy.stats_error = ENODEV; // a concurrent reset came first
    EXPECT_EQ(hmmGetStats(&found), hmmSuccess);
    EXPECT_TRUE(all_zero(found));
}

} // namespace
