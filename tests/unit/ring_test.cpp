// SPDX-License-Identifier: MIT
#include "agent/ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

using namespace hmmrt;

namespace {

class Ring : public testing::Test {
  protected:
    std::uint32_t publish(std::uint32_t pieces) {
        entry_at(*ctl, ctl->submitted.load()).pieces = pieces;
        return ring_publish(*ctl);
    }

    std::unique_ptr<control> ctl = std::make_unique<control>();
    piece mine = {};
};

TEST_F(Ring, AnEmptyRingGivesNothing) {
    EXPECT_EQ(ring_take(*ctl, 1, mine), 0u);
}

TEST_F(Ring, PiecesAreGivenOutOnceAndInOrder) {
    publish(3);
    for (std::uint32_t i = 0; i < 3; i++) {
        ASSERT_EQ(ring_take(*ctl, 1, mine), 1u);
        EXPECT_EQ(mine.index, i);
    }
    EXPECT_EQ(ring_take(*ctl, 1, mine), 0u);
}

TEST_F(Ring, TheRestCanBeTakenInOneGo) {
    publish(5);
    ASSERT_EQ(ring_take(*ctl, 1, mine), 1u);
    ASSERT_EQ(ring_take(*ctl, UINT32_MAX, mine), 4u);
    EXPECT_EQ(mine.index, 1u);
}

TEST_F(Ring, AnEntryIsOverWhenAllItsPiecesAre) {
    publish(2);
    piece first, second;
    ring_take(*ctl, 1, first);
    ring_take(*ctl, 1, second);
    ring_finish(*ctl, second, 1);
    EXPECT_FALSE(ring_reached(*ctl, 1));
    ring_finish(*ctl, first, 1);
    EXPECT_TRUE(ring_reached(*ctl, 1));
}

TEST_F(Ring, TheNextEntryWaitsForTheOneBefore) {
    publish(1);
    publish(1);
    ASSERT_EQ(ring_take(*ctl, 1, mine), 1u);
    piece early;
    EXPECT_EQ(ring_take(*ctl, 1, early), 0u);
    ring_finish(*ctl, mine, 1);
    ASSERT_EQ(ring_take(*ctl, 1, early), 1u);
    EXPECT_EQ(early.sequence, 1u);
}

TEST_F(Ring, IsFullWhenAllEntriesArePending) {
    for (std::uint32_t i = 0; i < ring_entries; i++) {
        EXPECT_FALSE(ring_full(*ctl));
        publish(1);
    }
    EXPECT_TRUE(ring_full(*ctl));
    ring_take(*ctl, 1, mine);
    ring_finish(*ctl, mine, 1);
    EXPECT_FALSE(ring_full(*ctl));
}

TEST_F(Ring, SequenceNumbersMayWrap) {
    const std::uint32_t start = UINT32_MAX - 2;
    ctl->submitted.store(start);
    ctl->completed.store(start);
    for (std::uint32_t i = 0; i < 6; i++) {
        const std::uint32_t sequence = publish(1);
        EXPECT_FALSE(ring_reached(*ctl, sequence + 1));
        ASSERT_EQ(ring_take(*ctl, 1, mine), 1u);
        EXPECT_EQ(mine.sequence, sequence);
        ring_finish(*ctl, mine, 1);
        EXPECT_TRUE(ring_reached(*ctl, sequence + 1));
    }
}

/// Lanes as the agent has them, counting how often each item of each launch was run.
TEST_F(Ring, ManyLanesRunEveryPieceOnce) {
    constexpr std::uint32_t launches = 3000, most_pieces = 7, lanes = 4;
    std::vector<std::atomic<int>> runs(launches * most_pieces);
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < lanes; i++)
        threads.emplace_back([&] {
            piece own = {};
            while (!ring_reached(*ctl, launches)) {
                const std::uint32_t bell = ctl->doorbell.load();
                if (ring_take(*ctl, 1, own) == 0) {
                    ctl->sleepers.fetch_add(1);
                    if (!ring_reached(*ctl, launches)) futex_wait(ctl->doorbell, bell);
                    ctl->sleepers.fetch_sub(1);
                    continue;
                }
                runs[own.sequence * most_pieces + own.index]++;
                ring_finish(*ctl, own, 1);
                if (ring_reached(*ctl, launches)) ring_wake_lanes(*ctl, lanes);
            }
        });
    for (std::uint32_t i = 0; i < launches; i++) {
        while (ring_full(*ctl))
            std::this_thread::yield();
        publish(1 + i % most_pieces);
    }
    for (std::thread& thread : threads)
        thread.join();
    for (std::uint32_t i = 0; i < launches; i++)
        for (std::uint32_t k = 0; k < most_pieces; k++)
            EXPECT_EQ(runs[i * most_pieces + k], k < 1 + i % most_pieces ? 1 : 0);
}

} // namespace
