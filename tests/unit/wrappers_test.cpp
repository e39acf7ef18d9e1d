// SPDX-License-Identifier: MIT
// The C++ interface: what its functions take, hand on and give back.
#include "memory_fixture.hpp"

#include <span>
#include <string>
#include <vector>

using fakes::kernel;

namespace {

using Wrappers = MemoryOverFakes;

/// That f() throws the error of @operation.
template <class Function>
void expect_error(hmmError_t code, const char* operation, Function f) {
    try {
        f();
        ADD_FAILURE() << operation << ": no error";
    } catch (const hmm::error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_STREQ(error.operation(), operation);
    }
}

TEST_F(Wrappers, ManagedMemoryIsGivenBackByItsLastOwner) {
    const int* where = nullptr;
    {
        hmm::managed_memory<int> first(1000);
        hmm::managed_memory<int> second = std::move(first);
        EXPECT_TRUE(first.get().empty());
        ASSERT_EQ(second.get().size(), 1000u);
        EXPECT_EQ(second.get()[999], 0);
        where = second.get().data();
        EXPECT_EQ(hmm::attributes(where).type, hmmMemoryTypeManaged);
    }
    EXPECT_EQ(hmm::attributes(where).type, hmmMemoryTypeUnregistered);
    EXPECT_THROW(hmm::managed_memory<int>(0), hmm::error);
    EXPECT_THROW(hmm::managed_memory<int>(SIZE_MAX / 2), hmm::error);
}

TEST_F(Wrappers, AttributesAreThoseOfAllPages) {
    hmm::advise(memory(), hmm::read_mostly);
    hmm::advise(memory(), hmm::preferred(hmm::device(1))); // whose id is 2
    hmm::advise(memory(), hmm::accessed_by(hmm::device(1)));
    hmm::advise(memory(), hmm::accessed_by(hmm::host));
    hmm::prefetch(memory(), hmm::numa_node(7));
    hmm::synchronize();
    const auto found = hmm::attributes(memory());
    EXPECT_TRUE(found.read_mostly);
    EXPECT_EQ(found.preferred.type, hmmMemLocationTypeDevice);
    EXPECT_EQ(found.preferred.id, 1);
    EXPECT_EQ(found.last_prefetch.type, hmmMemLocationTypeHostNuma);
    EXPECT_EQ(found.last_prefetch.id, 7);
    EXPECT_EQ(found.accessed_by, (std::vector{1, hmmCpuDeviceId}));
    EXPECT_THROW(hmm::attributes(std::span(static_cast<char*>(hole()), page)), hmm::error);
}

TEST_F(Wrappers, AttributesOfWhatWasNeverAdvisedAreNone) {
    for (const auto& found : {hmm::attributes(memory()), hmm::attributes(memory().first(0))}) {
        EXPECT_FALSE(found.read_mostly);
        EXPECT_EQ(found.preferred.type, hmmMemLocationTypeInvalid);
        EXPECT_EQ(found.last_prefetch.type, hmmMemLocationTypeInvalid);
        EXPECT_TRUE(found.accessed_by.empty());
    }
}

template <class T>
constexpr bool may_be_moved = requires(std::span<T> memory) {
    hmm::prefetch(memory, hmm::host);
};
template <class T>
constexpr bool may_be_discarded = requires(std::span<T> memory) {
    hmm::discard(memory);
};
template <class T>
constexpr bool may_be_discarded_and_moved = requires(std::span<T> memory) {
    hmm::discard_and_prefetch(memory, hmm::host);
};
template <class T>
constexpr bool may_be_set = requires(std::span<T> memory) {
    hmm::set_bytes(memory, std::byte(0));
};
template <class T>
constexpr int ways_to_be_lost = may_be_discarded<T> + may_be_discarded_and_moved<T> + may_be_set<T>;

TEST_F(Wrappers, ConstMemoryMayBeMovedButNotLost) {
    EXPECT_TRUE((may_be_moved<int> && may_be_moved<const int> && may_be_moved<std::string>));
    EXPECT_EQ(ways_to_be_lost<int>, 3);
    EXPECT_EQ(ways_to_be_lost<const int>, 0);
    EXPECT_EQ(ways_to_be_lost<std::string>, 0);
    const std::span<const std::byte> only_read = memory();
    hmm::prefetch(only_read.first(page), hmm::device(1));
    hmm::synchronize();
    EXPECT_EQ(hmm::residency(memory()).on(hmm::device(1)), 1u);
}

TEST_F(Wrappers, ReportGivesTheOutcomeOfEachPage) {
    kernel.memory.stays[address(2 * page)] = HMMRT_STAY_PINNED;
    const std::span<const std::byte> moved = memory().subspan(page + 1, 2 * page);
    ASSERT_EQ(hmm::page_count(moved), 3u);
    std::vector<hmmPageOutcome> outcomes(4, 255);
    const hmmPrefetchReport report =
        hmm::prefetch_with_report(moved, hmm::device(1), std::span(outcomes));
    EXPECT_EQ(report.moved, 2u);
    EXPECT_EQ(report.stayed[hmmStayPinned], 1u);
    EXPECT_EQ(outcomes,
              (std::vector<hmmPageOutcome>{hmmOutcomeMoved, hmmOutcomeStayed(hmmStayPinned),
                                           hmmOutcomeMoved, 255}));
    ASSERT_EQ(kernel.memory.prefetches.size(), 1u);
    EXPECT_EQ(kernel.memory.prefetches[0].addr, address(page));
    EXPECT_EQ(kernel.memory.prefetches[0].len, 3 * page);
    EXPECT_EQ(kernel.memory.prefetches[0].location, 2u);
}

TEST_F(Wrappers, ReportWithFewerOutcomesThanPagesIsRefused) {
    std::vector<hmmPageOutcome> outcomes(pages - 1);
    for (const std::span<hmmPageOutcome> few : {std::span(outcomes), std::span<hmmPageOutcome>()})
        expect_error(hmmErrorInvalidValue, "prefetch_with_report",
                     [&] { hmm::prefetch_with_report(memory(), hmm::host, few); });
    EXPECT_TRUE(kernel.memory.prefetches.empty());
    EXPECT_EQ(hmm::prefetch_with_report(memory().first(0), hmm::host, outcomes).moved, 0u);
}

TEST_F(Wrappers, PagesAreCountedWhereverTheRangeBegins) {
    EXPECT_EQ(hmm::page_count(memory().first(0)), 0u);
    EXPECT_EQ(hmm::page_count(memory().first(1)), 1u);
    EXPECT_EQ(hmm::page_count(memory().first(page)), 1u);
    EXPECT_EQ(hmm::page_count(memory().first(page + 1)), 2u);
    EXPECT_EQ(hmm::page_count(memory().subspan(page - 1, 2)), 2u);
    const std::span whole = memory().first(2 * page);
    EXPECT_EQ(hmm::page_count(std::span(reinterpret_cast<std::uint64_t*>(whole.data()),
                                        whole.size() / sizeof(std::uint64_t))),
              2u);
}

} // namespace
