// SPDX-License-Identifier: MIT
// Prefetches that report, and memory that is discarded.
#include "memory_fixture.hpp"

namespace {

using Prefetch = MemoryOverFakes;

class Discard : public MemoryOverFakes {
  protected:
    static hmmError_t discard(void* ptr, std::size_t bytes) {
        return hmmMemDiscardBatchAsync(&ptr, &bytes, 1, 0, nullptr);
    }
};

TEST_F(Prefetch, ToTheNodeOfTheCallingThread) {
    hmm::prefetch(memory(), hmm::current_numa_node);
    hmm::prefetch(memory(), hmm::numa_node(5));
    hmm::synchronize();
    EXPECT_EQ(kernel.memory.prefetches,
              (prefetches{{address(), pages * page, HMMRT_LOCATION_HOST_NODE(3u)},
                          {address(), pages * page, HMMRT_LOCATION_HOST_NODE(5u)}}));
}

TEST_F(Prefetch, ReportSaysWhatBecameOfEachPage) {
    kernel.memory.stays[address(2 * page)] = HMMRT_STAY_PINNED;
    kernel.memory.stays[address(3 * page)] = HMMRT_STAY_WATCHED;
    prefetch(memory().first(page), hmm::device(1));
    std::vector<hmmPageOutcome> outcomes(5, 255);
    hmmPrefetchReport report;
    ASSERT_EQ(hmmMemPrefetchWithReport(memory().data(), 4 * page, on(1), outcomes.data(),
                                       outcomes.size(), &report),
              hmmSuccess);
    EXPECT_EQ(report.moved, 1u);
    EXPECT_EQ(report.there, 1u);
    EXPECT_EQ(report.stayed[hmmStayPinned], 1u);
    EXPECT_EQ(report.stayed[hmmStayWatched], 1u);
    EXPECT_EQ(report.stayed[hmmStayBusy], 0u);
    EXPECT_EQ(outcomes, (std::vector<hmmPageOutcome>{hmmOutcomeThere, hmmOutcomeMoved,
                                                     hmmOutcomeStayed(hmmStayPinned),
                                                     hmmOutcomeStayed(hmmStayWatched), 255}));
}

TEST_F(Prefetch, InterruptedBySignalsCountsEachPageOnce) {
    kernel.memory.interrupt_after = 3;
    std::vector<hmmPageOutcome> outcomes(pages, 255);
    hmmPrefetchReport report;
    ASSERT_EQ(hmmMemPrefetchWithReport(memory().data(), pages * page, on(0), outcomes.data(), pages,
                                       &report),
              hmmSuccess);
    EXPECT_EQ(kernel.memory.prefetches.size(), 3u);
    EXPECT_EQ(report.moved, pages);
    EXPECT_EQ(report.there, 0u);
    EXPECT_EQ(outcomes, std::vector<hmmPageOutcome>(pages, hmmOutcomeMoved));
}

TEST_F(Prefetch, WaitingForAnEventReportsWhatQueuedCallsFailedWith) {
    const hmm::event behind;
    EXPECT_EQ(hmmMemPrefetchAsync(hole(), page, host, 0, nullptr), hmmSuccess);
    hmm::default_stream.record(behind);
    EXPECT_EQ(hmmEventSynchronize(behind.get()), hmmErrorInvalidValue);
    EXPECT_EQ(hmmEventSynchronize(behind.get()), hmmSuccess);
}

TEST_F(Prefetch, FreeLeavesWhatQueuedCallsFailedWithToTheirDevices) {
    void* memory = nullptr;
    ASSERT_EQ(hmmMallocManaged(&memory, page, hmmMemAttachGlobal), hmmSuccess);
    EXPECT_EQ(hmmMemPrefetchAsync(hole(), page, host, 0, nullptr), hmmSuccess);
    EXPECT_EQ(hmmFree(memory), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorInvalidValue);
}

TEST_F(Prefetch, ReportIsNotWantedByAllAndIsRefusedWithMorePagesThanOutcomes) {
    EXPECT_EQ(hmmMemPrefetchWithReport(memory().data(), page, on(0), nullptr, 0, nullptr),
              hmmSuccess);
    EXPECT_EQ(hmm::prefetch_with_report(memory(), hmm::host).moved, 1u);
    kernel.memory.prefetches.clear();
    hmmPageOutcome outcomes[2];
    EXPECT_EQ(hmmMemPrefetchWithReport(memory().data(), 2 * page + 1, host, outcomes, 2, nullptr),
              hmmErrorInvalidValue);
    EXPECT_TRUE(kernel.memory.prefetches.empty());
}

TEST_F(Discard, TakesWholePagesInsideTheRangeOnly) {
    EXPECT_EQ(discard(&memory()[1], 3 * page), hmmSuccess);
    EXPECT_EQ(discard(&memory()[1], 2 * page - 2), hmmSuccess) << "no whole page: nothing to do";
    EXPECT_EQ(discard(&memory()[page], page), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    EXPECT_EQ(kernel.memory.discards, (discards{{address(page), 2 * page}, {address(page), page}}));
}

TEST_F(Discard, ChecksNothingOutsideTheWholePages) {
    auto* const end = reinterpret_cast<std::byte*>(fakes::fake_memory::hole_end);
    EXPECT_EQ(discard(end - 1, 1 + page), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    EXPECT_EQ(kernel.memory.discards, (discards{{fakes::fake_memory::hole_end, page}}));
}

TEST_F(Discard, ArgumentsAreCheckedBeforeAnythingIsQueued) {
    void* ptrs[] = {memory().data(), memory().data()};
    const std::size_t sizes[] = {page, page}, empty[] = {page, 0}, first = 0;
    const hmmMemLocation nowhere = {hmmMemLocationTypeInvalid, 0};
    EXPECT_EQ(hmmMemDiscardBatchAsync(ptrs, sizes, 2, 1, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemDiscardBatchAsync(ptrs, sizes, 0, 0, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemDiscardBatchAsync(nullptr, sizes, 2, 0, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemDiscardBatchAsync(ptrs, nullptr, 2, 0, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemDiscardBatchAsync(ptrs, empty, 2, 0, nullptr), hmmErrorInvalidValue);
    const auto both = [&](const std::size_t* of, hmmMemLocation where, unsigned long long flags) {
        return hmmMemDiscardAndPrefetchBatchAsync(ptrs, of, 2, &where, &first, 1, flags, nullptr);
    };
    EXPECT_EQ(both(sizes, nowhere, 0), hmmErrorInvalidValue);
    EXPECT_EQ(both(empty, host, 0), hmmErrorInvalidValue);
    EXPECT_EQ(both(sizes, host, 1), hmmErrorInvalidValue);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    EXPECT_TRUE(kernel.memory.discards.empty());
}

TEST_F(Discard, ThenPrefetchMovesAlsoThePagesAtTheEnds) {
    hmm::discard_and_prefetch(memory().subspan(1, 2 * page), hmm::device(1));
    hmm::synchronize();
    EXPECT_EQ(kernel.memory.discards, (discards{{address(page), page}}));
    EXPECT_EQ(kernel.memory.prefetches, (prefetches{{address(), 3 * page, 2}}));
}

TEST_F(Discard, OfSeveralRangesIsDoneOneAfterTheOther) {
    void* const ptrs[] = {&memory()[2 * page], &memory()[0], &memory()[5 * page]};
    const std::size_t sizes[] = {page, 2 * page, 3 * page};
    EXPECT_EQ(hmmMemDiscardBatchAsync(ptrs, sizes, 3, 0, nullptr), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    EXPECT_EQ(kernel.memory.discards, (discards{{address(2 * page), page},
                                                {address(), 2 * page},
                                                {address(5 * page), 3 * page}}));
    EXPECT_EQ(kernel.memory.order, "ddd");
}

/// Ranges 0 and 1 go to device 1, whose id is 2, the others to system memory.
TEST_F(Discard, ThenPrefetchOfSeveralTakesEachRangeInItsTurn) {
    void* ptrs[4];
    const std::size_t sizes[] = {page, 2 * page, page, page}, firsts[] = {0, 2};
    for (std::size_t i = 0; i < 4; i++)
        ptrs[i] = &memory()[2 * page * i];
    const hmmMemLocation locations[] = {on(1), host};
    EXPECT_EQ(hmmMemDiscardAndPrefetchBatchAsync(ptrs, sizes, 4, locations, firsts, 2, 0, nullptr),
              hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    EXPECT_EQ(kernel.memory.order, "dpdpdpdp");
    prefetches moved;
    discards discarded;
    for (std::size_t i = 0; i < 4; i++) {
        discarded.push_back({address(2 * page * i), sizes[i]});
        moved.push_back({address(2 * page * i), sizes[i], i < 2 ? 2u : HMMRT_LOCATION_HOST});
    }
    EXPECT_EQ(kernel.memory.discards, discarded);
    EXPECT_EQ(kernel.memory.prefetches, moved);
}

TEST_F(Discard, OfAHoleOrOfLockedMemoryIsReportedOnce) {
    EXPECT_EQ(discard(hole(), page), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorInvalidValue);
    EXPECT_TRUE(mentions(hmmGetLastErrorDetail(), {"not mapped"}));
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);

    const hmm::registered_memory registered(memory());
    EXPECT_EQ(discard(memory().data(), page), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorInvalidValue);
    EXPECT_TRUE(mentions(hmmGetLastErrorDetail(), {"locked"}));
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
}

} // namespace
