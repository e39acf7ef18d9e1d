// SPDX-License-Identifier: MIT
// Bypass: which blocks a full device gets, in simulated time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

extern "C" {
#include "policy.h"
}

namespace {

constexpr unsigned block_pages = HMMRT_POLICY_BLOCK_PAGES;
constexpr u64 lapse = 2000, longest = 1000000;

/// Whether a look that finds this many pages used is enough for the block to go.
bool look(hmmrt_policy_bypass* bypass, unsigned used, unsigned remote, u64 now) {
    hmmrt_policy_bypass_used(bypass, used);
    return hmmrt_policy_bypass_look(bypass, remote, now) != 0 &&
           hmmrt_policy_bypass_goes(bypass, remote);
}

/// A process on a device that has memory for some of its blocks. Each block is a chunk.
class Device {
  public:
    Device(unsigned blocks, unsigned capacity) : blocks_(blocks), free_(capacity) {}

    u64 now = 1000000;
    unsigned moves_in = 0, evictions = 0, looks = 0;

    /// Uses some pages of a block. Looks that are due by then come first.
    void use(unsigned number, unsigned pages = block_pages, u64 duration = 100) {
        look_at_all();
        block& one = blocks_[number];
        now += duration;
        if (!one.resident && one.state.until == 0) fault(one);
        one.used = std::min(one.used + pages, block_pages);
        if (one.resident) one.when = now;
    }

    void sweep(unsigned first, unsigned end) {
        for (unsigned i = first; i < end; i++)
            use(i);
    }

    unsigned resident(unsigned first, unsigned end) const {
        return static_cast<unsigned>(std::count_if(blocks_.begin() + first, blocks_.begin() + end,
                                                   [](const block& one) { return one.resident; }));
    }

    const hmmrt_policy_bypass& state(unsigned number) const { return blocks_[number].state; }

  private:
    struct block {
        hmmrt_policy_bypass state = {};
        bool resident = false;
        unsigned used = 0; ///< pages, since the last look
        u64 when = 0;      ///< time of the last use on the device
    };

    block* oldest() {
        block* found = nullptr;
        for (block& one : blocks_)
            if (one.resident && (found == nullptr || one.when < found->when)) found = &one;
        return found;
    }

    void move_in(block& one) {
        hmmrt_policy_bypass_end(&one.state);
        one.resident = true;
        one.when = now;
        moves_in++;
    }

    void fault(block& one) {
        if (free_ == 0) {
            hmmrt_policy_bypass_begin(&one.state, now, lapse);
            return;
        }
        free_--;
        move_in(one);
    }

    void look_at(block& one) {
        const bool enough = look(&one.state, one.used, block_pages, now);
        looks++;
        one.used = 0;
        if (!enough) return;
        block* const victim = oldest();
        if (victim == nullptr || victim->when >= one.state.since) {
            hmmrt_policy_bypass_refused(&one.state, now);
            return;
        }
        victim->resident = false;
        hmmrt_policy_bypass_evicted(&victim->state);
        evictions++;
        move_in(one);
    }

    void look_at_all() {
        for (block& one : blocks_)
            if (!one.resident && one.state.until != 0 && one.state.until <= now) look_at(one);
    }

    std::vector<block> blocks_;
    unsigned free_;
};

TEST(Bypass, ALoopOverMoreThanTheDeviceHasMovesNothingTwice) {
    Device device(32, 16);
    for (int round = 0; round < 200; round++)
        device.sweep(0, 32);
    EXPECT_EQ(device.moves_in, 16u);
    EXPECT_EQ(device.evictions, 0u);
    EXPECT_GT(device.looks, 0u);
}

TEST(Bypass, RandomUseOfMoreThanTheDeviceHasMovesLittle) {
    Device device(32, 16);
    std::mt19937 random(1);
    for (int i = 0; i < 20000; i++)
        device.use(random() % 32, 8);
    EXPECT_LE(device.evictions, 32u) << "of 20000 uses";
}

TEST(Bypass, AnotherWorkingSetGetsTheDevice) {
    Device device(32, 16);
    for (int round = 0; round < 20; round++)
        device.sweep(0, 16);
    unsigned rounds = 0;
    while (rounds < 1000 && device.resident(16, 32) < 16) {
        device.sweep(16, 32);
        rounds++;
    }
    EXPECT_LE(rounds, 20u);
    EXPECT_EQ(device.evictions, 16u);
}

TEST(Bypass, WhatIsUsedMoreTakesThePlaceOfWhatIsNotUsed) {
    Device device(24, 16);
    device.sweep(0, 16); // scanned once
    for (int round = 0; round < 100; round++)
        device.sweep(16, 24);
    EXPECT_EQ(device.resident(16, 24), 8u);
    EXPECT_EQ(device.evictions, 8u);
}

TEST(Bypass, MemoryThatIsHardlyUsedDoesNotGo) {
    Device device(17, 16);
    device.sweep(0, 16);
    u64 used = 0;
    for (int i = 0; i < 64; i++, used += 8)
        device.use(16, 8, 2 * lapse);
    EXPECT_EQ(device.resident(16, 17), 0u) << used << " pages";
    for (int i = 0; i < 4; i++)
        device.use(16, 8, 2 * lapse);
    EXPECT_EQ(device.resident(16, 17), 1u) << "each page was used about once";
}

TEST(Bypass, TwoWorkingSetsInTurnMoveMoreAndMoreRarely) {
    Device device(32, 16);
    std::vector<unsigned> evicted;
    for (int phase = 0; phase < 12; phase++) {
        const unsigned before = device.evictions;
        for (int round = 0; round < 40; round++)
            device.sweep(phase % 2 * 16, phase % 2 * 16 + 16);
        evicted.push_back(device.evictions - before);
    }
    EXPECT_EQ(evicted[1], 16u);
    EXPECT_LT(evicted.back(), 16u) << "a phase is too short for the way back and forth";
    EXPECT_LE(device.evictions, 6 * 32u) << "the evidence needed doubles up to six times";
}

TEST(Bypass, NothingGoesWithoutALook) {
    hmmrt_policy_bypass bypass = {};
    hmmrt_policy_bypass_begin(&bypass, 1000, lapse);
    EXPECT_EQ(bypass.until, 1000 + lapse);
    EXPECT_FALSE(look(&bypass, 0, block_pages, 2000));
    EXPECT_FALSE(look(&bypass, block_pages, block_pages, 3000));
    EXPECT_EQ(bypass.since, 2000u) << "the pass may have begun after this look";
    EXPECT_FALSE(look(&bypass, block_pages - 1, block_pages, 5000));
    EXPECT_FALSE(look(&bypass, 0, block_pages, 6000));
    EXPECT_TRUE(look(&bypass, 1, block_pages, 7000));
    EXPECT_EQ(bypass.since, 2000u);
}

TEST(Bypass, TheEvidenceIsAboutThePagesThatAreUsedRemotely) {
    hmmrt_policy_bypass bypass = {};
    hmmrt_policy_bypass_begin(&bypass, 1000, lapse);
    look(&bypass, 16, 16, 2000);
    EXPECT_FALSE(look(&bypass, 15, 16, 3000));
    EXPECT_TRUE(look(&bypass, 1, 16, 5000));
}

TEST(Bypass, FreeMemoryIsTakenIfItWasFreeSinceTheLastLook) {
    hmmrt_policy_bypass bypass = {};
    hmmrt_policy_bypass_begin(&bypass, 1000, lapse);
    EXPECT_FALSE(hmmrt_policy_bypass_takes(&bypass, false, 7));
    EXPECT_FALSE(hmmrt_policy_bypass_takes(&bypass, true, 7)) << "it was full at the last look";
    EXPECT_TRUE(hmmrt_policy_bypass_takes(&bypass, true, 7));
    EXPECT_FALSE(hmmrt_policy_bypass_takes(&bypass, true, 8)) << "it was full in between";
    EXPECT_TRUE(hmmrt_policy_bypass_takes(&bypass, true, 8));
    EXPECT_FALSE(hmmrt_policy_bypass_takes(&bypass, false, 8));
    EXPECT_FALSE(hmmrt_policy_bypass_takes(&bypass, true, 8));
    hmmrt_policy_bypass_refused(&bypass, 2000);
    EXPECT_FALSE(hmmrt_policy_bypass_takes(&bypass, true, 8)) << "it begins again";
}

TEST(Bypass, UnusedMemoryIsLookedAtMoreRarely) {
    hmmrt_policy_bypass bypass = {};
    hmmrt_policy_bypass_begin(&bypass, 0, lapse);
    u64 wait = lapse;
    for (int i = 0; i < 20; i++) {
        const u64 at = bypass.until;
        EXPECT_FALSE(look(&bypass, 0, block_pages, at));
        wait = std::min(2 * wait, longest);
        EXPECT_EQ(bypass.until, at + wait);
    }
    EXPECT_EQ(wait, longest);
}

TEST(Bypass, ARefusalWaitsTwiceAsLongAndStartsAgain) {
    hmmrt_policy_bypass bypass = {};
    hmmrt_policy_bypass_begin(&bypass, 0, lapse);
    EXPECT_FALSE(look(&bypass, 1, block_pages, lapse));
    EXPECT_TRUE(look(&bypass, block_pages, block_pages, 2 * lapse));
    hmmrt_policy_bypass_refused(&bypass, 3 * lapse);
    EXPECT_EQ(bypass.wait, 6 * lapse) << "the evidence took three lapses";
    EXPECT_EQ(bypass.until, 9 * lapse);
    EXPECT_EQ(bypass.seen, 0u);
    EXPECT_FALSE(bypass.used);
    EXPECT_FALSE(look(&bypass, block_pages, block_pages, 9 * lapse));
}

TEST(Bypass, TheEvidenceNeededDoublesWithEachEviction) {
    hmmrt_policy_bypass bypass = {};
    for (unsigned trips = 0; trips < 10; trips++) {
        const unsigned passes = 1u << std::min(trips, 6u);
        hmmrt_policy_bypass_begin(&bypass, 0, lapse);
        look(&bypass, 1, block_pages, lapse);
        for (unsigned pass = 1; pass < passes; pass++)
            EXPECT_FALSE(look(&bypass, block_pages, block_pages, lapse)) << trips;
        EXPECT_FALSE(look(&bypass, block_pages - 1, block_pages, lapse)) << trips;
        EXPECT_TRUE(look(&bypass, 1, block_pages, 2 * lapse)) << trips;
        hmmrt_policy_bypass_end(&bypass);
        EXPECT_EQ(bypass.until, 0u);
        hmmrt_policy_bypass_evicted(&bypass);
    }
}

TEST(Bypass, UsesThatOthersAskedForCount) {
    hmmrt_policy_bypass bypass = {};
    hmmrt_policy_bypass_begin(&bypass, 1000, lapse);
    look(&bypass, 1, 300, 1500);
    hmmrt_policy_bypass_used(&bypass, 200);
    hmmrt_policy_bypass_used(&bypass, 400);
    EXPECT_EQ(hmmrt_policy_bypass_look(&bypass, 300, 2000), 300u) << "of those that are remote";
    EXPECT_EQ(hmmrt_policy_bypass_look(&bypass, 300, 3000), 0u);
    hmmrt_policy_bypass_used(&bypass, block_pages);
    hmmrt_policy_bypass_used(&bypass, block_pages);
    EXPECT_EQ(hmmrt_policy_bypass_look(&bypass, block_pages, 4000), block_pages);
}

// If the CPU moves the results back, what was used once must not take their place.
TEST(Bypass, ASinglePassIsNoReasonToMove) {
    hmmrt_policy_bypass bypass = {};
    hmmrt_policy_bypass_begin(&bypass, 1000, lapse);
    hmmrt_policy_bypass_used(&bypass, block_pages);
    EXPECT_EQ(hmmrt_policy_bypass_look(&bypass, block_pages, bypass.until), 0u);
    EXPECT_EQ(hmmrt_policy_bypass_look(&bypass, block_pages, bypass.until), 0u);
    hmmrt_policy_bypass_used(&bypass, 1);
    EXPECT_EQ(hmmrt_policy_bypass_look(&bypass, block_pages, bypass.until), 1u);
}

TEST(Bypass, UnmappingMemoryOfABlockThatStaysKeepsItsWait) {
    hmmrt_policy_bypass bypass = {};
    hmmrt_policy_bypass_begin(&bypass, 0, lapse);
    hmmrt_policy_bypass_evicted(&bypass);
    hmmrt_policy_bypass_forget(&bypass);
    EXPECT_EQ(bypass.trips, 0u);
    EXPECT_FALSE(look(&bypass, 0, block_pages, bypass.until));
    EXPECT_EQ(bypass.wait, 2 * lapse) << "a wait of 0 would never grow";
    hmmrt_policy_bypass_end(&bypass);
    hmmrt_policy_bypass_forget(&bypass);
    EXPECT_EQ(bypass.wait, 0u) << "other memory starts like any other";
}

// What is left of a block that moved, and a block that lost its entries, wait as long as before.
TEST(Bypass, ABlockThatStaysAgainWaitsAsLongAsBefore) {
    hmmrt_policy_bypass bypass = {};
    hmmrt_policy_bypass_begin(&bypass, 0, lapse);
    for (int i = 0; i < 3; i++)
        look(&bypass, 0, block_pages, bypass.until);
    hmmrt_policy_bypass_end(&bypass);
    hmmrt_policy_bypass_begin(&bypass, 50000, lapse);
    EXPECT_EQ(bypass.until, 50000 + 8 * lapse);
    hmmrt_policy_bypass_begin(&bypass, 60000, 2 * longest);
    EXPECT_EQ(bypass.until, 60000 + longest);
}

TEST(Bypass, LooksTakeASixteenthOfTheTime) {
    EXPECT_EQ(hmmrt_policy_bypass_pause(250), 4000u);
    EXPECT_EQ(hmmrt_policy_bypass_pause(1000000), 1000000u)
        << "a slow run delays others by a second";
}

} // namespace
