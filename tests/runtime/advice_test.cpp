// SPDX-License-Identifier: MIT
// Advice, range attributes, page states, and devices that use each other's
// memory.
#include "device_fixture.hpp"

#include <atomic>
#include <cstring>
#include <immintrin.h>
#include <span>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t bytes = 4 << 20;

class Advice : public OnDevice {
  protected:
    Advice() {
        void* memory = nullptr;
        EXPECT_EQ(hmmMallocManaged(&memory, bytes, hmmMemAttachGlobal), hmmSuccess);
        memory_ = {static_cast<unsigned char*>(memory), bytes};
        std::memset(memory, 1, bytes);
    }
    ~Advice() override { hmmFree(memory_.data()); }

    static long sum(std::span<const unsigned char> memory) {
        long result = 0;
        for (const unsigned char value : memory)
            result += value;
        return result;
    }
    long sum_on_device() const {
        long result = 0;
        on_device([&] { result = sum(memory_); });
        return result;
    }
    /// Launches a kernel that runs until the flag is set.
    static void hold(hmm::stream_ref in, const std::atomic<bool>& go) {
        hmm::launch(in, 1, [&go](std::size_t) {
            while (!go)
                _mm_pause();
        });
    }
    static int attribute(hmmMemRangeAttribute which, std::span<const unsigned char> memory) {
        int value = -100;
        EXPECT_EQ(
            hmmMemRangeGetAttribute(&value, sizeof(value), which, memory.data(), memory.size()),
            hmmSuccess)
            << hmmGetLastErrorDetail();
        return value;
    }
    std::span<unsigned char> hole() const {
        munmap(memory_.data() + bytes / 2, page);
        return memory_.subspan(bytes / 2 - page, 2 * page);
    }

    std::span<unsigned char> memory_;
};

using Attributes = Advice;
using Outcomes = Advice;
using Residency = Advice;

class Peer : public Advice {
  protected:
    void SetUp() override {
        if (hmm::device_count() < 2) GTEST_SKIP() << "one device only";
    }
    ~Peer() override {
        if (hmm::device_count() >= 2) hmm::reset(hmm::device(1));
    }
};

TEST_F(Advice, NoMigrateKeepsPagesInSystemMemoryDespiteAPrefetch) {
    NEEDS_PAGES_THAT_MOVE();
    hmm::advise(memory_, hmm::no_migrate);
    hmm::prefetch(memory_, hmm::device(0));
    EXPECT_EQ(sum_on_device(), static_cast<long>(bytes));
    EXPECT_TRUE(hmm::residency(memory_).all_on(hmm::host));
    hmm::unadvise(memory_, hmm::no_migrate);
    hmm::prefetch(memory_, hmm::device(0));
    hmm::synchronize();
    EXPECT_TRUE(hmm::residency(memory_).all_on(hmm::device(0)));
}

TEST_F(Advice, AccessedByMapsPagesWhereTheyAre) {
    hmm::advise(memory_, hmm::accessed_by(hmm::device(0)));
    EXPECT_EQ(sum_on_device(), static_cast<long>(bytes));
    EXPECT_TRUE(hmm::residency(memory_).all_on(hmm::host));
}

TEST_F(Advice, PagesThatPreferTheHostStayThere) {
    hmm::advise(memory_, hmm::preferred(hmm::host));
    unsigned char* const raw = memory_.data();
    hmm::launch(bytes, [=](std::size_t i) { raw[i]++; });
    hmm::synchronize();
    EXPECT_TRUE(hmm::residency(memory_).all_on(hmm::host));
    EXPECT_EQ(sum(memory_), 2 * static_cast<long>(bytes));
}

TEST_F(Advice, ReadMostlyMakesACopyAndAWriteTakesItAway) {
    NEEDS_PAGES_THAT_MOVE();
    hmm::advise(memory_, hmm::read_mostly);
    EXPECT_EQ(sum_on_device(), static_cast<long>(bytes));
    std::size_t copies = 0;
    for (const hmmPageState& state : hmm::residency(memory_))
        copies += (state.duplicates & 1u) != 0;
    EXPECT_GT(copies, 0u);
    std::memset(memory_.data(), 2, bytes);
    for (const hmmPageState& state : hmm::residency(memory_))
        EXPECT_EQ(state.duplicates, 0u);
    EXPECT_EQ(sum_on_device(), 2 * static_cast<long>(bytes));
}

TEST_F(Advice, QueuedComesAfterWhatWasQueuedBefore) {
    NEEDS_PAGES_THAT_MOVE();
    const hmm::stream one;
    std::atomic<bool> go = false;
    hold(one, go);
    hmm::prefetch(memory_, hmm::device(0), one);
    hmm::advise(memory_, hmm::no_migrate, one);
    hmm::prefetch(memory_, hmm::host, one);
    hmm::prefetch(memory_, hmm::device(0), one);
    go = true;
    one.synchronize();
    const auto found = hmm::residency(memory_);
    EXPECT_TRUE(found.all_on(hmm::host)) << "the last prefetch was too late";
    EXPECT_TRUE(all_prefetched(found)) << "the first prefetch moved them, or none migrated back";
}

TEST_F(Advice, QueuedComesBeforeWhatIsQueuedAfter) {
    NEEDS_PAGES_THAT_MOVE();
    const hmm::stream one;
    std::atomic<bool> go = false;
    unsigned char* const raw = memory_.data();
    const auto add_one = [=](std::size_t i) { raw[i]++; };
    hold(one, go);
    hmm::advise(memory_, hmm::no_migrate, one);
    hmm::launch(one, bytes, add_one);
    go = true;
    one.synchronize();
    EXPECT_TRUE(hmm::residency(memory_).all_on(hmm::host));

    go = false;
    hold(one, go);
    hmm::unadvise(memory_, hmm::no_migrate, one);
    hmm::prefetch(memory_, hmm::device(0), one);
    hmm::launch(one, bytes, add_one);
    go = true;
    one.synchronize();
    EXPECT_TRUE(hmm::residency(memory_).all_on(hmm::device(0)));
    EXPECT_EQ(sum(memory_), 3 * static_cast<long>(bytes));
}

TEST_F(Advice, OfAHoleIsRefused) {
    const auto memory = hole();
    EXPECT_EQ(hmmMemAdvise(memory.data(), memory.size(), hmmMemAdviseSetReadMostly, {}),
              hmmErrorInvalidValue);
    EXPECT_EQ(attribute(hmmMemRangeAttributeReadMostly, memory.first(page)), 0)
        << "all of it, or nothing";
}

TEST_F(Advice, OfANodeThatIsNotThereIsRefused) {
    EXPECT_EQ(hmmMemAdvise(memory_.data(), page, hmmMemAdviseSetPreferredLocation,
                           {hmmMemLocationTypeHostNuma, 1000}),
              hmmErrorInvalidValue);
    hmm::advise(memory_, hmm::preferred(hmm::current_numa_node));
    EXPECT_EQ(attribute(hmmMemRangeAttributePreferredLocationType, memory_),
              hmmMemLocationTypeHostNuma);
}

TEST_F(Advice, GranularityIsWhatOneFaultMoves) {
    NEEDS_PAGES_THAT_MOVE();
    hmm::set_granularity(memory_, page);
    on_device([this] { memory_[bytes / 2 + 5] = 9; });
    EXPECT_EQ(hmm::residency(memory_).on(hmm::device(0)), 1u);
    EXPECT_EQ(memory_[bytes / 2 + 5], 9);
}

TEST_F(Attributes, AreWhatAllPagesWereAdvised) {
    const auto first = memory_.first(page);
    hmm::advise(first, hmm::read_mostly);
    hmm::advise(memory_, hmm::preferred(hmm::device(0)));
    EXPECT_EQ(attribute(hmmMemRangeAttributeReadMostly, first), 1);
    EXPECT_EQ(attribute(hmmMemRangeAttributeReadMostly, memory_), 0);
    EXPECT_EQ(attribute(hmmMemRangeAttributePreferredLocation, memory_), 0);
    hmm::advise(first, hmm::preferred(hmm::host));
    EXPECT_EQ(attribute(hmmMemRangeAttributePreferredLocation, first), hmmCpuDeviceId);
    EXPECT_EQ(attribute(hmmMemRangeAttributePreferredLocation, memory_), hmmInvalidDeviceId);
}

TEST_F(Attributes, ListTheProcessorsOfAccessedBy) {
    hmm::advise(memory_, hmm::accessed_by(hmm::host));
    hmm::advise(memory_, hmm::accessed_by(hmm::device(0)));
    int locations[3] = {};
    ASSERT_EQ(hmmMemRangeGetAttribute(locations, sizeof(locations), hmmMemRangeAttributeAccessedBy,
                                      memory_.data(), bytes),
              hmmSuccess);
    EXPECT_EQ(locations[0], 0);
    EXPECT_EQ(locations[1], hmmCpuDeviceId);
    EXPECT_EQ(locations[2], hmmInvalidDeviceId);
}

TEST_F(Attributes, KnowTheLastPrefetch) {
    EXPECT_EQ(attribute(hmmMemRangeAttributeLastPrefetchLocation, memory_), hmmInvalidDeviceId);
    hmm::prefetch(memory_, hmm::device(0));
    hmm::synchronize();
    EXPECT_EQ(attribute(hmmMemRangeAttributeLastPrefetchLocation, memory_), 0);
    hmm::prefetch(memory_.first(page), hmm::host);
    hmm::synchronize();
    EXPECT_EQ(attribute(hmmMemRangeAttributeLastPrefetchLocation, memory_), hmmInvalidDeviceId);
}

TEST_F(Attributes, OfAHoleAreRefused) {
    int value = 0;
    const auto memory = hole();
    EXPECT_EQ(hmmMemRangeGetAttribute(&value, sizeof(value), hmmMemRangeAttributeReadMostly,
                                      memory.data(), memory.size()),
              hmmErrorInvalidValue);
}

TEST_F(Residency, ReportsLocationMappingsAndCauseOfTheLastMove) {
    NEEDS_PAGES_THAT_MOVE();
    hmm::prefetch(memory_.first(bytes / 2), hmm::device(0));
    hmm::synchronize();
    const auto found = hmm::residency(memory_);
    ASSERT_EQ(found.size(), bytes / page);
    EXPECT_EQ(found.on(hmm::device(0)), bytes / page / 2);
    EXPECT_EQ(found.on(hmm::host), bytes / page / 2);
    EXPECT_EQ(found[0].cause, hmmMoveCausePrefetch);
    EXPECT_GT(found[0].time, 0u);
    EXPECT_EQ(found[0].mappedBy & hmmByCpu, 0u);
    EXPECT_EQ(found[found.size() - 1].mappedBy, hmmByCpu);
}

TEST_F(Residency, SeesThatMemoryIsLocked) {
    // With sanitizers, mlock() does nothing.
    ASSERT_EQ(syscall(SYS_mlock, memory_.data(), page), 0);
    EXPECT_NE(hmm::residency(memory_.first(page))[0].flags & hmmPageLocked, 0u);
    EXPECT_EQ(hmm::residency(memory_.subspan(page, page))[0].flags & hmmPageLocked, 0u);
}

TEST_F(Residency, OfAHoleIsRefused) {
    const auto memory = hole();
    hmmPageState states[2];
    EXPECT_EQ(hmmMemGetResidency(memory.data(), memory.size(), states, 2), hmmErrorInvalidValue);
}

TEST_F(Outcomes, SayWhatBecameOfEachPage) {
    NEEDS_PAGES_THAT_MOVE();
    hmm::prefetch(memory_.first(page), hmm::device(0));
    hmm::synchronize();
    hmm::advise(memory_.subspan(page, page), hmm::no_migrate);
    ASSERT_EQ(mlock(memory_.data() + 2 * page, page), 0);
    std::vector<hmmPageOutcome> outcomes(4);
    hmmPrefetchReport report;
    ASSERT_EQ(hmmMemPrefetchWithReport(memory_.data(), 4 * page, {hmmMemLocationTypeDevice, 0},
                                       outcomes.data(), outcomes.size(), &report),
              hmmSuccess);
    EXPECT_EQ(outcomes,
              (std::vector<hmmPageOutcome>{hmmOutcomeThere, hmmOutcomeStayed(hmmStayPolicy),
                                           hmmOutcomeStayed(hmmStayPinned), hmmOutcomeMoved}));
    EXPECT_EQ(report.moved, 1u);
    EXPECT_EQ(report.there, 1u);
    EXPECT_EQ(report.stayed[hmmStayPolicy], 1u);
    EXPECT_EQ(report.stayed[hmmStayPinned], 1u);
}

TEST_F(Peer, AccessIsEnabledOnceAndEndsWithAReset) {
    if (!hmm::can_access(hmm::device(0), hmm::device(1))) GTEST_SKIP() << "they cannot";
    ASSERT_EQ(hmmDeviceEnablePeerAccess(1, 0), hmmSuccess);
    EXPECT_EQ(hmmDeviceEnablePeerAccess(1, 0), hmmErrorPeerAccessAlreadyEnabled);
    hmm::reset();
    EXPECT_EQ(hmmDeviceDisablePeerAccess(1), hmmErrorPeerAccessNotEnabled);
}

TEST_F(Peer, MemoryOfAPeerIsUsedWhereItIs) {
    NEEDS_PAGES_THAT_MOVE();
    if (!hmm::can_access(hmm::device(0), hmm::device(1))) GTEST_SKIP() << "they cannot";
    const hmm::peer_access access(hmm::device(0), hmm::device(1));
    hmm::advise(memory_, hmm::preferred(hmm::device(1)));
    hmm::prefetch(memory_, hmm::device(1));
    hmm::synchronize();
    ASSERT_TRUE(hmm::residency(memory_).all_on(hmm::device(1)));
    EXPECT_EQ(sum_on_device(), static_cast<long>(bytes));
    EXPECT_TRUE(hmm::residency(memory_).all_on(hmm::device(1)));
}

} // namespace
