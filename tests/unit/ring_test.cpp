// SPDX-License-Identifier: MIT
#include "agent/ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

using namespace hmmrt;

namespace {

class Ring : public testing::Test {
  protected:
    std::uint32_t publish(std::uint32_t pieces) { return publish(queue, pieces); }
    std::uint32_t publish(work_queue& where, std::uint32_t pieces,
                          entry_kind kind = entry_kind::range) {
        ring_entry& entry = entry_at(where, where.submitted.load());
        entry.pieces = pieces;
        entry.kind.store(kind);
        entry.after_mask.store(0);
        return ring_publish(*ctl, where);
    }
    /// Publishes an entry of @where that waits until @other has completed
    /// @target entries.
    std::uint32_t publish_after(work_queue& where, work_queue& other, std::uint32_t target) {
        ring_entry& entry = entry_at(where, where.submitted.load());
        const auto number = static_cast<std::uint32_t>(&other - ctl->queues);
        entry.pieces = 1;
        entry.kind.store(entry_kind::range);
        entry.after[number].store(target);
        entry.after_mask.store(1u << number);
        return ring_publish(*ctl, where);
    }
    /// Finds a piece and finishes it. Returns the number of its queue, -1 if
    /// there is no piece.
    int find() {
        if (!ring_find(*ctl, turns, mine)) return -1;
        ring_finish(*ctl, mine, 1);
        return static_cast<int>(mine.from - ctl->queues);
    }

    /// Starts threads that act as lanes until is_over(): they take pieces with take(), and run
    /// them.
    template <class Take, class Run, class Condition>
    void start_lanes(Take take, Run run, Condition is_over) {
        for (std::uint32_t i = 0; i < lanes; i++)
            threads.emplace_back([this, take, run, is_over] {
                piece own = {};
                queue_turns own_turns;
                while (!is_over()) {
                    const std::uint32_t bell = ctl->doorbell.load();
                    if (!take(own_turns, own)) {
                        ctl->sleepers.fetch_add(1);
                        if (!is_over()) futex_wait(ctl->doorbell, bell);
                        ctl->sleepers.fetch_sub(1);
                        continue;
                    }
                    run(own);
                    ring_finish(*ctl, own, 1);
                    if (is_over()) ring_wake_lanes(*ctl, lanes);
                }
            });
    }
    /// The same for pieces of all queues.
    template <class Run, class Condition>
    void start_lanes(Run run, Condition is_over) {
        start_lanes(
            [this](queue_turns& own_turns, piece& own) { return ring_find(*ctl, own_turns, own); },
            run, is_over);
    }
    void join_lanes() {
        for (std::thread& thread : threads)
            thread.join();
    }
    static void wait_for_space(const work_queue& in) {
        while (ring_full(in))
            std::this_thread::yield();
    }
    /// Checks that @order has the numbers below @count in their order.
    static void expect_all_in_order(const std::vector<std::uint32_t>& order, std::uint32_t count) {
        std::vector<std::uint32_t> expected(count);
        std::iota(expected.begin(), expected.end(), 0u);
        EXPECT_EQ(order, expected);
    }

    static constexpr std::uint32_t lanes = 4;
    std::vector<std::thread> threads;
    std::unique_ptr<control> ctl = std::make_unique<control>();
    work_queue& queue = ctl->queues[0];
    queue_turns turns;
    piece mine = {};
};

TEST_F(Ring, PiecesAreGivenOutOnceAndInOrder) {
    EXPECT_EQ(ring_take(*ctl, queue, 1, mine), 0u) << "it is empty";
    publish(3);
    for (std::uint32_t i = 0; i < 3; i++) {
        ASSERT_EQ(ring_take(*ctl, queue, 1, mine), 1u);
        EXPECT_EQ(mine.index, i);
    }
    EXPECT_EQ(ring_take(*ctl, queue, 1, mine), 0u);
}

TEST_F(Ring, TheRestCanBeTakenInOneGo) {
    publish(5);
    ASSERT_EQ(ring_take(*ctl, queue, 1, mine), 1u);
    ASSERT_EQ(ring_take(*ctl, queue, UINT32_MAX, mine), 4u);
    EXPECT_EQ(mine.index, 1u);
}

TEST_F(Ring, AnEntryIsOverWhenAllItsPiecesAre) {
    publish(2);
    piece first, second;
    ring_take(*ctl, queue, 1, first);
    ring_take(*ctl, queue, 1, second);
    ring_finish(*ctl, second, 1);
    EXPECT_FALSE(ring_reached(queue, 1));
    ring_finish(*ctl, first, 1);
    EXPECT_TRUE(ring_reached(queue, 1));
}

TEST_F(Ring, ASerialEntryHasOnePieceAtATime) {
    publish(queue, 3, entry_kind::serial);
    piece other;
    for (std::uint32_t i = 0; i < 3; i++) {
        ASSERT_EQ(ring_take(*ctl, queue, UINT32_MAX, mine), 1u);
        EXPECT_EQ(mine.index, i);
        EXPECT_EQ(ring_take(*ctl, queue, 1, other), 0u);
        EXPECT_FALSE(ring_reached(queue, 1));
        ring_finish(*ctl, mine, 1);
    }
    EXPECT_TRUE(ring_reached(queue, 1));
}

TEST_F(Ring, ALaneThatGivesUpEndsTheRestOfTheEntry) {
    for (const entry_kind kind : {entry_kind::range, entry_kind::serial}) {
        const std::uint32_t sequence = publish(queue, 5, kind);
        ASSERT_EQ(ring_take(*ctl, queue, 1, mine), 1u);
        ring_finish(*ctl, mine, 1);
        ASSERT_EQ(ring_take(*ctl, queue, 1, mine), 1u);
        ring_finish(*ctl, mine, 1 + ring_take_rest(*ctl, mine));
        EXPECT_TRUE(ring_reached(queue, sequence + 1));
    }
}

TEST_F(Ring, TheNextEntryWaitsForTheOneBefore) {
    publish(1);
    publish(1);
    ASSERT_EQ(ring_take(*ctl, queue, 1, mine), 1u);
    piece early;
    EXPECT_EQ(ring_take(*ctl, queue, 1, early), 0u);
    ring_finish(*ctl, mine, 1);
    ASSERT_EQ(ring_take(*ctl, queue, 1, early), 1u);
    EXPECT_EQ(early.sequence, 1u);
}

TEST_F(Ring, IsFullWhenAllEntriesArePending) {
    for (std::uint32_t i = 0; i < ring_entries; i++) {
        EXPECT_FALSE(ring_full(queue));
        publish(1);
    }
    EXPECT_TRUE(ring_full(queue));
    ring_take(*ctl, queue, 1, mine);
    ring_finish(*ctl, mine, 1);
    EXPECT_FALSE(ring_full(queue));
}

TEST_F(Ring, SequenceNumbersMayWrap) {
    const std::uint32_t start = UINT32_MAX - 2;
    queue.submitted.store(start);
    queue.completed.store(start);
    for (std::uint32_t i = 0; i < 6; i++) {
        const std::uint32_t sequence = publish(1);
        EXPECT_FALSE(ring_reached(queue, sequence + 1));
        ASSERT_EQ(ring_take(*ctl, queue, 1, mine), 1u);
        EXPECT_EQ(mine.sequence, sequence);
        ring_finish(*ctl, mine, 1);
        EXPECT_TRUE(ring_reached(queue, sequence + 1));
    }
}

/// Threads act as lanes of an agent, and count how often each item of each
/// launch runs.
TEST_F(Ring, ManyLanesRunEveryPieceOnce) {
    constexpr std::uint32_t launches = 3000, most_pieces = 7;
    std::vector<std::atomic<int>> runs(launches * most_pieces);
    start_lanes([&](queue_turns&, piece& own) { return ring_take(*ctl, queue, 1, own) != 0; },
                [&](const piece& own) { runs[own.sequence * most_pieces + own.index]++; },
                [&] { return queue.completed.load() == launches; });
    for (std::uint32_t i = 0; i < launches; i++) {
        wait_for_space(queue);
        publish(1 + i % most_pieces);
    }
    join_lanes();
    for (std::uint32_t i = 0; i < launches; i++)
        for (std::uint32_t k = 0; k < most_pieces; k++)
            EXPECT_EQ(runs[i * most_pieces + k], k < 1 + i % most_pieces ? 1 : 0);
}

// ---- several queues

TEST_F(Ring, QueuesAreServedInTurn) {
    for (std::uint32_t number : {1u, 2u, 3u, 1u, 2u, 3u})
        publish(ctl->queues[number], 1);
    for (int expected : {1, 2, 3, 1, 2, 3, -1})
        EXPECT_EQ(find(), expected);
}

TEST_F(Ring, HighPriorityComesFirstAndDoesNotDisturbTheOthersTurns) {
    publish(ctl->queues[2], 1);
    EXPECT_EQ(find(), 2);
    for (std::uint32_t number : {1u, 2u, 3u, 13u, 13u})
        publish(ctl->queues[number], 1);
    for (int expected : {13, 13, 3, 1, 2, -1})
        EXPECT_EQ(find(), expected);
}

TEST_F(Ring, FinishingAPieceOfASerialEntryRingsForTheNext) {
    publish(ctl->queues[1], 3, entry_kind::serial);
    EXPECT_EQ(find(), 1);
    std::uint32_t bell = ctl->doorbell.load();
    EXPECT_EQ(find(), 1);
    EXPECT_EQ(ctl->doorbell.load(), bell) << "it went on with it";
    publish(ctl->queues[2], 1);
    bell = ctl->doorbell.load();
    ASSERT_TRUE(ring_find(*ctl, turns, mine));
    EXPECT_EQ(mine.from, &ctl->queues[2]);
    EXPECT_NE(ctl->doorbell.load(), bell);
    ring_finish(*ctl, mine, 1);
    EXPECT_EQ(find(), 1);
    EXPECT_TRUE(ring_reached(ctl->queues[1], 1));
}

TEST_F(Ring, AnEntryIsPassedByUntilTheOtherQueueHasGotThere) {
    publish(ctl->queues[5], 2);
    publish_after(ctl->queues[1], ctl->queues[5], 1);
    ASSERT_TRUE(ring_find(*ctl, turns, mine));
    const piece first = mine;
    EXPECT_EQ(first.from, &ctl->queues[5]);
    ASSERT_TRUE(ring_find(*ctl, turns, mine));
    EXPECT_EQ(mine.from, &ctl->queues[5]);
    EXPECT_EQ(find(), -1);
    ring_finish(*ctl, first, 1);
    EXPECT_EQ(find(), -1);
    ring_finish(*ctl, mine, 1);
    EXPECT_EQ(find(), 1);
}

TEST_F(Ring, WaitsWorkWhenNumbersWrap) {
    work_queue& other = ctl->queues[5];
    other.submitted.store(UINT32_MAX);
    other.completed.store(UINT32_MAX);
    publish(other, 1);
    publish_after(ctl->queues[1], other, 0); // UINT32_MAX + 1
    EXPECT_EQ(find(), 5);
    EXPECT_EQ(find(), 1);
}

TEST_F(Ring, WhatWasReachedStaysSoHoweverFarTheOtherQueueGets) {
    publish_after(ctl->queues[1], ctl->queues[5], 1);
    for (const std::uint32_t far :
         {1u, ring_entries, 1u << 31, (1u << 31) + 2, 0u - ring_entries}) {
        ctl->queues[5].completed.store(far);
        EXPECT_TRUE(ring_reached(ctl->queues[5], 1)) << far;
    }
    ctl->queues[5].completed.store(1u << 31 | 2);
    EXPECT_EQ(find(), 1);
}

TEST_F(Ring, AGateOpensForItsNumberAndNotForTheNext) {
    const std::uint32_t first = publish(queue, 1, entry_kind::gate);
    publish(queue, 1, entry_kind::gate);
    EXPECT_EQ(find(), -1);
    ring_open_gate(*ctl, queue, first);
    EXPECT_EQ(find(), 0);
    EXPECT_EQ(find(), -1);
    ring_open_gate(*ctl, queue, first + 1);
    EXPECT_EQ(find(), 0);
}

TEST_F(Ring, AfterAFaultNothingIsWaitedFor) {
    publish(queue, 1, entry_kind::gate);
    publish_after(ctl->queues[1], queue, 1);
    publish_after(ctl->queues[2], ctl->queues[9], 1);
    EXPECT_EQ(find(), -1);
    ctl->sticky.store(1);
    std::vector<int> found = {find(), find(), find()};
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, (std::vector<int>{0, 1, 2}));
}

TEST_F(Ring, QueuesOfAKindAreDisjointAndCoverAll) {
    std::uint32_t seen = 1u << legacy_queue;
    for (const queue_group& group : {blocking_low, apart_low, blocking_high, apart_high}) {
        EXPECT_GT(group.count, 0u);
        EXPECT_EQ(seen & group.mask(), 0u);
        seen |= group.mask();
    }
    EXPECT_EQ(seen, (1u << queue_count) - 1);
}

/// Each entry of a queue waits for an entry of the previous queue, in a chain
/// through all queues.
TEST_F(Ring, ManyLanesKeepTheOrderAcrossQueues) {
    constexpr std::uint32_t rounds = 500, chain = 8;
    std::vector<std::uint32_t> order;
    std::atomic<std::uint32_t> over = 0;
    start_lanes(
        [&](const piece& own) { // one chain through all queues: no two entries run at a time
            order.push_back(own.sequence * chain +
                            static_cast<std::uint32_t>(own.from - ctl->queues));
            over++;
        },
        [&] { return over.load() >= rounds * chain; });
    for (std::uint32_t round = 0; round < rounds; round++)
        for (std::uint32_t number = 0; number < chain; number++) {
            wait_for_space(ctl->queues[number]);
            const std::uint32_t before = (number + chain - 1) % chain;
            publish_after(ctl->queues[number], ctl->queues[before],
                          number == 0 ? round : round + 1);
        }
    join_lanes();
    expect_all_in_order(order, rounds * chain);
}

/// Serial entries next to parallel ones. Each piece of a serial entry runs
/// once, in order, on one lane at a time.
TEST_F(Ring, ManyLanesTakeTurnsAtSerialEntries) {
    constexpr std::uint32_t rounds = 500, pieces = 7;
    std::vector<std::uint32_t> order;
    std::atomic<std::uint32_t> inside = 0, over = 0;
    start_lanes(
        [&](const piece& own) {
            if (own.from == &queue) {
                EXPECT_EQ(inside.fetch_add(1), 0u);
                order.push_back(own.sequence * pieces + own.index);
                inside.fetch_sub(1);
            }
            over++;
        },
        [&] { return over.load() >= 2 * rounds * pieces; });
    for (std::uint32_t round = 0; round < rounds; round++) {
        wait_for_space(queue);
        wait_for_space(ctl->queues[1]);
        publish(queue, pieces, entry_kind::serial);
        publish(ctl->queues[1], pieces);
    }
    join_lanes();
    expect_all_in_order(order, rounds * pieces);
}

/// One gate releases several entries that can only end together: the ring must
/// wake all lanes.
TEST_F(Ring, EntriesThatWaitedForTheSameRunSideBySide) {
    constexpr std::uint32_t rounds = 300;
    std::atomic<std::uint32_t> met = 0;
    start_lanes(
        [&](const piece& own) {
            if (own.from == &queue) return;
            met++;
            while (met.load() < (own.sequence + 1) * lanes)
                std::this_thread::yield();
        },
        [&] { return met.load() >= rounds * lanes; });
    for (std::uint32_t round = 0; round < rounds; round++) {
        for (std::uint32_t number = 0; number <= lanes; number++)
            wait_for_space(ctl->queues[number]);
        publish(queue, 1, entry_kind::gate);
        for (std::uint32_t number = 1; number <= lanes; number++)
            publish_after(ctl->queues[number], queue, round + 1);
        // A gate can be opened when the earlier gates have been passed. In
        // every other round all lanes are asleep.
        while (queue.completed.load() != round || (round % 2 == 0 && ctl->sleepers.load() < lanes))
            std::this_thread::yield();
        ring_open_gate(*ctl, queue, round);
    }
    join_lanes();
    EXPECT_EQ(met.load(), rounds * lanes);
}

} // namespace
