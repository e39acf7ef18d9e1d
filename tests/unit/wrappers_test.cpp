// SPDX-License-Identifier: MIT
// The C++ interface: what its functions accept, pass on and return.
#include "memory_fixture.hpp"

#include <cstdio>
#include <cstdlib>
#include <list>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace {

class Wrappers : public MemoryOverFakes {
  protected:
    static hmm::stream_ref no_stream() {
        return hmm::stream_ref(reinterpret_cast<hmmStream_t>(~0ul));
    }
    std::span<std::byte> page_at(std::size_t number) {
        return memory().subspan(number * page, page);
    }

    std::span<int, page / sizeof(int)> ints_at(std::size_t number) {
        return std::span<int, page / sizeof(int)>(reinterpret_cast<int*>(page_at(number).data()),
                                                  page / sizeof(int));
    }

    /// Checks which pages were moved where since the last check.
    void expect_moves(const std::vector<std::pair<std::size_t, std::uint32_t>>& moves) {
        EXPECT_EQ(hmm::synchronize(std::nothrow), hmmSuccess);
        std::vector<std::pair<std::size_t, std::uint32_t>> seen;
        for (const fakes::prefetch_call& each : kernel.memory.prefetches) {
            EXPECT_EQ(each.len, page);
            seen.emplace_back((each.addr - address()) / page, each.location);
        }
        EXPECT_EQ(seen, moves);
        kernel.memory.prefetches.clear();
    }
    void expect_discards(const std::vector<std::size_t>& numbers) {
        EXPECT_EQ(hmm::synchronize(std::nothrow), hmmSuccess);
        std::vector<std::size_t> seen;
        for (const fakes::discard_call& each : kernel.memory.discards) {
            EXPECT_EQ(each.len, page);
            seen.push_back((each.addr - address()) / page);
        }
        EXPECT_EQ(seen, numbers);
        kernel.memory.discards.clear();
    }
    /// Checks the order of prefetches and discards since the last check.
    static void expect_order(const char* letters) {
        EXPECT_EQ(kernel.memory.order, letters);
        kernel.memory.order.clear();
    }
};

TEST_F(Wrappers, MemoryOfADeviceIsItsOwnWhicheverIsCurrent) {
    for (const hmm::device current : {hmm::device(0), hmm::device(1)}) {
        hmm::set_device(current);
        EXPECT_EQ(hmm::device(0).memory().total, 256u << 20);
        EXPECT_EQ(hmm::device(0).memory().free, 192u << 20);
        EXPECT_EQ(hmm::device(1).memory().total, 512u << 20);
        EXPECT_EQ(hmm::device(1).memory().free, 512u << 20);
        EXPECT_THROW(static_cast<void>(hmm::device(7).memory()), hmm::error);
        EXPECT_EQ(hmm::current_device(), current);
    }
}

TEST_F(Wrappers, StrictModeGoesOnAndOff) {
    run_nothing();
    for (const bool strict : {true, false}) {
        hmm::set_strict(strict);
        EXPECT_EQ(kernel.agent_is_strict(), strict);
    }
}

TEST_F(Wrappers, StreamsSayWhatTheyWereMadeWith) {
    const auto [least, greatest] = hmm::stream_priorities();
    EXPECT_EQ(least, 0);
    EXPECT_EQ(greatest, -1);
    const hmm::stream high(hmmStreamDefault, greatest), apart(hmmStreamNonBlocking, least),
        highest(hmmStreamNonBlocking, -100);
    EXPECT_EQ(high.flags(), hmmStreamDefault);
    EXPECT_EQ(high.priority(), greatest);
    EXPECT_EQ(apart.flags(), hmmStreamNonBlocking);
    EXPECT_EQ(apart.priority(), least);
    EXPECT_EQ(highest.priority(), greatest);
    EXPECT_EQ(hmm::default_stream.flags(), hmmStreamDefault);
    EXPECT_EQ(hmm::default_stream.priority(), least);
    expect_error(hmmErrorInvalidResourceHandle, "stream flags",
                 [] { static_cast<void>(no_stream().flags()); });
    expect_error(hmmErrorInvalidResourceHandle, "stream priority",
                 [] { static_cast<void>(no_stream().priority()); });
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

TEST_F(Wrappers, RegisteredFlagsAreOfTheMemoryThatThePointerIsInto) {
    const hmm::registered_memory plain(page_at(0)), read_only(page_at(1), hmmHostRegisterReadOnly);
    const std::byte* const first = page_at(0).data();
    EXPECT_EQ(hmm::registered_flags(first + page - 1), hmmHostRegisterMapped);
    constexpr unsigned both = hmmHostRegisterReadOnly | hmmHostRegisterMapped;
    EXPECT_EQ(hmm::registered_flags(first + page), both);
    EXPECT_EQ(hmm::registered_flags(first + 2 * page - 1), both);
    expect_error(hmmErrorInvalidValue, "registered_flags",
                 [=] { static_cast<void>(hmm::registered_flags(first + 2 * page)); });
}

TEST_F(Wrappers, AttributesAreThoseOfAllPages) {
    hmm::advise(memory(), hmm::read_mostly);
    hmm::advise(memory(), hmm::preferred(hmm::device(1))); // its id is 2
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
    EXPECT_THROW(static_cast<void>(hmm::attributes(std::span(static_cast<char*>(hole()), page))),
                 hmm::error);
}

TEST_F(Wrappers, AttributesOfWhatWasNeverAdvisedAreNone) {
    for (const auto& found : {hmm::attributes(memory()), hmm::attributes(memory().first(0))}) {
        EXPECT_FALSE(found.read_mostly);
        EXPECT_EQ(found.preferred.type, hmmMemLocationTypeInvalid);
        EXPECT_EQ(found.last_prefetch.type, hmmMemLocationTypeInvalid);
        EXPECT_TRUE(found.accessed_by.empty());
    }
}

template <class Ref>
constexpr bool accepts_zero = requires {
    Ref(0);
};
template <class Ref>
constexpr bool accepts_nullptr = requires {
    Ref(nullptr);
};
static_assert(!accepts_zero<hmm::stream_ref> && !accepts_nullptr<hmm::stream_ref>);
static_assert(!accepts_zero<hmm::event_ref> && !accepts_nullptr<hmm::event_ref>);
static_assert(std::is_constructible_v<hmm::stream_ref, hmmStream_t>);
static_assert(std::is_constructible_v<hmm::event_ref, hmmEvent_t>);
static_assert(!std::is_convertible_v<hmmStream_t, hmm::stream_ref>);
static_assert(!std::is_convertible_v<hmmEvent_t, hmm::event_ref>);
static_assert(!std::is_default_constructible_v<hmm::event_ref>);
static_assert(hmm::default_stream.get() == nullptr && hmm::default_stream == hmm::stream_ref());

template <class Function>
constexpr bool takes_index = requires(Function f) {
    hmm::launch(std::size_t{4}, f);
    hmm::launch(hmm::default_stream, 4, f);
    hmm::launch(hmm::device(0), 4, f);
    hmm::parallel_for(0ul, 4ul, f);
};
template <class Function>
constexpr bool takes_grid = requires(Function f) {
    hmm::launch({4}, {64}, f);
    hmm::launch({4, 2}, {64}, f);
    hmm::launch(hmm::default_stream, {4}, {64}, f);
    hmm::launch(hmm::device(0), {4}, {64}, f);
};
template <class Function>
constexpr bool takes_element = requires(Function f, std::vector<std::string> elements) {
    hmm::parallel_for(elements, f);
    hmm::parallel_for(hmm::default_stream, elements, f);
};
static_assert(takes_index<void (*)(std::size_t)> && !takes_index<void (*)(hmm::thread_index)>);
static_assert(takes_grid<void (*)(hmm::thread_index)> && !takes_grid<void (*)(std::size_t)>);
static_assert(takes_element<void (*)(std::string&)> && !takes_element<void (*)(int)>);

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
    EXPECT_EQ(kernel.memory.prefetches, (prefetches{{address(page), 3 * page, 2}}));
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
    for (const auto& [bytes, count] : {std::pair{0ul, 0u}, {1ul, 1u}, {page, 1u}, {page + 1, 2u}})
        EXPECT_EQ(hmm::page_count(memory().first(bytes)), count) << bytes;
    EXPECT_EQ(hmm::page_count(memory().subspan(page - 1, 2)), 2u);
    auto* const words = reinterpret_cast<std::uint64_t*>(memory().data());
    EXPECT_EQ(hmm::page_count(std::span(words, 2 * page / sizeof(*words))), 2u);
}

TEST_F(Wrappers, PrefetchBatchMovesAllToOneLocationInOrder) {
    const std::span<const std::byte> only_read = page_at(0);
    hmm::prefetch_batch({page_at(5), memory().first(0), only_read, ints_at(3)}, hmm::device(1));
    expect_moves({{5, 2}, {0, 2}, {3, 2}});
    expect_order("ppp");
}

TEST_F(Wrappers, PrefetchBatchMovesEachToItsLocation) {
    const std::span<const std::byte> only_read = page_at(4);
    hmm::prefetch_batch({{page_at(1), hmm::device(1)},
                         {memory().first(0), hmm::device(0)},
                         {page_at(0), hmm::host},
                         {only_read, hmm::device(0)},
                         {page_at(2), hmm::numa_node(5)}});
    expect_moves({{1, 2}, {0, HMMRT_LOCATION_HOST}, {4, 0}, {2, HMMRT_LOCATION_HOST_NODE(5u)}});
    expect_order("pppp");
}

TEST_F(Wrappers, DiscardBatchForgetsAllInTheirOrder) {
    hmm::discard_batch({page_at(6), memory().first(0), ints_at(1), page_at(4)});
    expect_discards({6, 1, 4});
    expect_order("ddd");
}

TEST_F(Wrappers, DiscardAndPrefetchBatchTakesEachInItsTurn) {
    hmm::discard_and_prefetch_batch({page_at(6), memory().first(0), page_at(1)}, hmm::device(1));
    expect_discards({6, 1});
    expect_moves({{6, 2}, {1, 2}});
    expect_order("dpdp");
    hmm::discard_and_prefetch_batch({{page_at(2), hmm::host}, {page_at(7), hmm::device(1)}});
    expect_discards({2, 7});
    expect_moves({{2, HMMRT_LOCATION_HOST}, {7, 2}});
    expect_order("dpdp");
}

TEST_F(Wrappers, BatchesAreMadeOfAnyRangeOfSpans) {
    const std::vector<std::span<std::byte>> spans = {page_at(3), page_at(1)};
    hmm::prefetch_batch(spans, hmm::device(1));
    hmm::discard_batch(std::span(spans));
    expect_moves({{3, 2}, {1, 2}});
    expect_discards({3, 1});
    const std::vector<std::pair<std::span<std::byte>, hmm::device>> moves = {
        {page_at(2), hmm::device(1)}, {page_at(4), hmm::device(0)}};
    hmm::prefetch_batch(moves);
    hmm::discard_and_prefetch_batch(moves);
    expect_moves({{2, 2}, {4, 0}, {2, 2}, {4, 0}});
    expect_discards({2, 4});
}

TEST_F(Wrappers, BatchesAreOfTheirStream) {
    const hmm::placed<hmm::memory_ref> placed(page_at(0), hmm::host);
    const auto refused = [](const char* operation, auto f) {
        expect_error(hmmErrorInvalidResourceHandle, operation, f);
    };
    refused("prefetch_batch", [&] { hmm::prefetch_batch({page_at(0)}, hmm::host, no_stream()); });
    refused("prefetch_batch", [&] { hmm::prefetch_batch({placed}, no_stream()); });
    refused("discard_batch", [&] { hmm::discard_batch({page_at(0)}, no_stream()); });
    refused("discard_and_prefetch_batch",
            [&] { hmm::discard_and_prefetch_batch({page_at(0)}, hmm::host, no_stream()); });
    refused("discard_and_prefetch_batch",
            [&] { hmm::discard_and_prefetch_batch({placed}, no_stream()); });
}

TEST_F(Wrappers, BatchesWithAnInvalidLocationQueueNothing) {
    const hmm::batch<hmm::placed<hmm::memory_ref>> wrong = {{page_at(0), hmm::host},
                                                            {page_at(1), hmm::device(7)}};
    expect_error(hmmErrorInvalidDevice, "discard_and_prefetch_batch",
                 [&] { hmm::discard_and_prefetch_batch(wrong); });
    expect_error(hmmErrorInvalidDevice, "prefetch_batch", [&] {
        hmm::prefetch_batch({{page_at(0), hmm::host}, {page_at(1), hmm::device(7)}});
    });
    expect_moves({});
    expect_discards({});
}

TEST_F(Wrappers, BatchesOfNothingAreNothing) {
    const std::span<std::byte> empty = memory().first(0);
    hmm::prefetch_batch({}, hmm::host);
    hmm::prefetch_batch({empty}, hmm::device(0));
    hmm::prefetch_batch({{empty, hmm::device(0)}});
    hmm::discard_batch({empty});
    hmm::discard_and_prefetch_batch({empty, empty}, hmm::host);
    hmm::discard_and_prefetch_batch(std::vector<hmm::placed<hmm::memory_ref>>());
    expect_order("");
}

template <class Memory>
constexpr bool may_be_moved_in_batch = std::is_convertible_v<Memory, hmm::const_memory_ref>;
template <class Memory>
constexpr bool may_be_lost_in_batch = std::is_convertible_v<Memory, hmm::memory_ref>;

TEST_F(Wrappers, BatchesMoveConstMemoryButDoNotLoseIt) {
    EXPECT_TRUE((may_be_moved_in_batch<std::span<int>> && may_be_lost_in_batch<std::span<int>>));
    EXPECT_TRUE(may_be_moved_in_batch<std::span<const int>>);
    EXPECT_TRUE(may_be_moved_in_batch<std::span<std::string>>);
    EXPECT_FALSE(may_be_lost_in_batch<std::span<const int>>);
    EXPECT_FALSE(may_be_lost_in_batch<std::span<std::string>>);
    EXPECT_FALSE(may_be_lost_in_batch<hmm::const_memory_ref>);
}

// ---- ranges that are no spans

/// A contiguous range that is not a span, in the tests' memory.
template <std::size_t Extent>
auto range_of(std::span<int, Extent> span) {
    return std::ranges::subrange(span.data(), span.data() + span.size());
}

TEST_F(Wrappers, ContiguousRangesAreMemory) {
    static_assert(hmm::detail::memory_range<std::vector<int>>);
    static_assert(hmm::detail::memory_range<const std::vector<int>>);
    static_assert(hmm::detail::memory_range<int[4]>);
    static_assert(hmm::detail::memory_range<std::array<int, 4>>);
    static_assert(hmm::detail::memory_range<std::string>);
    static_assert(!hmm::detail::memory_range<std::vector<bool>>);
    static_assert(!hmm::detail::memory_range<std::list<int>>);
    static_assert(!hmm::detail::memory_range<std::span<int>>);

    hmm::prefetch(range_of(ints_at(1)), hmm::device(0));
    expect_moves({{1, 0}});
    hmm::prefetch_with_report(range_of(ints_at(2)), hmm::device(0));
    expect_moves({{2, 0}});
    EXPECT_EQ(hmm::page_count(range_of(ints_at(3))), 1u);
    EXPECT_EQ(hmm::residency(range_of(ints_at(3))).size(), 1u);
    hmm::advise(range_of(ints_at(0)), hmm::read_mostly);
    hmm::unadvise(range_of(ints_at(0)), hmm::read_mostly);
    hmm::set_granularity(range_of(ints_at(0)), 65536);
    hmm::set_granularity(range_of(ints_at(0)), 0);
}

TEST_F(Wrappers, ResidencyIsPrintedByRuns) {
    char* text = nullptr;
    std::size_t length = 0;
    std::FILE* const stream = open_memstream(&text, &length);
    ASSERT_NE(stream, nullptr);
    hmm::prefetch_with_report(ints_at(1), hmm::device(0));
    hmm::print_residency(std::span<std::byte>(page_at(0).data(), 3 * page), stream);
    hmm::print_residency(std::span<int>(), stream);
    std::fclose(stream);
    const std::string printed(text, length);
    std::free(text);
    std::size_t lines = 0;
    for (const char each : printed)
        lines += each == '\n' ? 1 : 0;
    const auto states = hmm::residency(std::span<std::byte>(page_at(0).data(), 3 * page));
    std::size_t runs = 1;
    for (std::size_t i = 1; i < states.size(); i++)
        runs += states[i].location != states[i - 1].location ? 1 : 0;
    EXPECT_EQ(lines, runs) << printed;
    EXPECT_TRUE(printed.starts_with("pages 0 to ")) << printed;
}

TEST_F(Wrappers, BoundsOfALoopMayHaveDifferentTypes) {
    std::vector<int> data(100);
    hmm::parallel_for(0, data.size(), [&](std::size_t i) { data[i] = static_cast<int>(i); });
    EXPECT_EQ(data[99], 99);
    long sum = 0;
    hmm::parallel_for(-2, 3l, [&](long i) { std::atomic_ref<long>(sum) += i; });
    EXPECT_EQ(sum, 0);
    hmm::parallel_for(5u, -1, [&](unsigned) { sum = 7; });
    EXPECT_EQ(sum, 0) << "an empty loop";
    expect_error(hmmErrorInvalidValue, "parallel_for",
                 [&] { hmm::parallel_for(-1, data.size(), [](std::size_t) {}); });
}

TEST_F(Wrappers, ABracedGridWithAGenericKernelIsAGrid) {
    std::atomic<int> threads = 0;
    hmm::launch({4}, {64}, [&](auto) { threads++; });
    hmm::synchronize();
    EXPECT_EQ(threads, 256);
}

} // namespace
