// SPDX-License-Identifier: MIT
// Thrashing: memory that moves back and forth or is evicted again and again, in
// simulated time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

extern "C" {
#include "policy.h"
}

namespace {

// @evicted is in chunks: evictions of the device up to this one.
void evicted_at(hmmrt_policy_refaults* refaults, std::uint64_t evicted, std::uint64_t now = 0) {
    hmmrt_policy_evicted(refaults, evicted * HMMRT_POLICY_BLOCK_PAGES, now);
}

// @there and @size, too: what the process has of the device, and all of it.
bool thrashes_after(hmmrt_policy_refaults* refaults, std::uint64_t evicted, std::uint64_t there,
                    const hmmrt_policy_pace* pace, std::uint64_t size = 64) {
    return hmmrt_policy_thrashes(refaults, evicted * HMMRT_POLICY_BLOCK_PAGES,
                                 there * HMMRT_POLICY_BLOCK_PAGES, size * HMMRT_POLICY_BLOCK_PAGES,
                                 pace);
}

constexpr unsigned granule = HMMRT_POLICY_GRANULE_PAGES;
constexpr u64 lapse = 1000;
constexpr u8 mine = HMMRT_POLICY_LOCATION_DEVICE(3), other = HMMRT_POLICY_LOCATION_DEVICE(2),
             host = HMMRT_POLICY_LOCATION_HOST;

hmmrt_knobs default_knobs() {
    const hmmrt_set_knobs none = {};
    hmmrt_knobs knobs = {};
    hmmrt_knobs_fill(&knobs, &none, nullptr, nullptr);
    return knobs;
}

/// A block, a clock, and the processors that move the block.
class Block {
  public:
    hmmrt_knobs knobs = default_knobs();
    hmmrt_policy_thrashing state = {};
    u64 now = 1000000;
    u64 nap = 0;

    hmmrt_policy_pace pace() const { return {&knobs, now, lapse}; }

    bool move(u8 location, unsigned first = 0, unsigned count = granule) {
        const auto at = pace();
        return hmmrt_policy_moved(&state, {first, count}, location, &at);
    }

    hmmrt_policy_held hold(unsigned page = 0, u8 processor = mine) {
        const auto at = pace();
        return hmmrt_policy_hold(&state, page, processor, &at, &nap);
    }

    bool pinned() const { return hmmrt_policy_is_pinned(&state, now); }

    /// One touch of a device: it waits if it is throttled, then moves the page
    /// unless it is pinned.
    hmmrt_policy_held touch(unsigned page = 0, u8 processor = mine) {
        const auto found = hold(page, processor);
        if (found == HMMRT_HOLD_NAP || found == HMMRT_HOLD_SHARE) now += nap;
        if (!pinned()) move(processor, page / granule * granule);
        return found;
    }

    /// Device and CPU touch in turn until the block is pinned. Returns the
    /// number of turns, 0 if it is not pinned within @most.
    unsigned turns_until_pinned(unsigned most, u64 pause = lapse / 10) {
        for (unsigned turn = 1; turn <= most; turn++) {
            now += pause;
            if (touch() == HMMRT_HOLD_PIN) return turn;
            now += pause;
            move(host);
        }
        return 0;
    }

    /// Moves the block until thrashing is detected.
    void thrash(u64 pause = lapse / 10) {
        for (unsigned i = 0; i < 255 && !state.thrashes; i++) {
            now += pause;
            move(i % 2 ? host : mine);
        }
    }
};

TEST(Lapse, IsWhatIsSetOrFourMigrations) {
    hmmrt_knobs knobs = default_knobs();
    EXPECT_EQ(hmmrt_policy_lapse(&knobs, 0), 500u);
    EXPECT_EQ(hmmrt_policy_lapse(&knobs, 125), 500u);
    EXPECT_EQ(hmmrt_policy_lapse(&knobs, 126), 504u);
    EXPECT_EQ(hmmrt_policy_lapse(&knobs, 2000), 8000u);
    // A slow migration raises the lapse to 50 ms at most ...
    EXPECT_EQ(hmmrt_policy_lapse(&knobs, 100000000), 50000u);
    // ... unless the knob asks for more.
    knobs.of[HMMRT_KNOB_THRASHING_LAPSE_USEC] = 500000;
    EXPECT_EQ(hmmrt_policy_lapse(&knobs, 100000000), 500000u);
}

TEST(Lapse, FollowsWhatMigrationsTake) {
    u64 average = hmmrt_policy_average(0, 800);
    EXPECT_EQ(average, 800u);
    for (int i = 0; i < 100; i++)
        average = hmmrt_policy_average(average, 8000);
    EXPECT_NEAR(static_cast<double>(average), 8000, 80);
    // One slow migration does not dominate the average.
    EXPECT_LT(hmmrt_policy_average(800, 8000), 2000u);
}

TEST(BackAndForth, IsDetectedAfterAsManyMovesAsTheThresholdSays) {
    for (const unsigned threshold : {1u, 3u, 10u, 255u}) {
        Block block;
        block.knobs.of[HMMRT_KNOB_THRASHING_THRESHOLD] = threshold;
        block.move(mine);
        for (unsigned i = 1; i <= threshold; i++) {
            block.now += lapse;
            EXPECT_EQ(block.move(i % 2 ? host : mine), i == threshold) << threshold;
        }
        EXPECT_TRUE(block.state.thrashes);
    }
}

TEST(BackAndForth, IsNotWhatTakesLongerThanALapse) {
    Block block;
    EXPECT_EQ(block.turns_until_pinned(1000, lapse + 1), 0u);
    EXPECT_FALSE(block.state.thrashes);
}

TEST(BackAndForth, IsBetweenDevicesAsWell) {
    Block block;
    for (int i = 0; i < 4; i++)
        block.move(i % 2 ? mine : other);
    EXPECT_TRUE(block.state.thrashes);
}

TEST(BackAndForth, IsNotWhatOneDeviceMovesAgainAndAgain) {
    Block block;
    for (int i = 0; i < 1000; i++)
        EXPECT_FALSE(block.move(mine));
}

// Each part of the block moves to the device once and back once, as in work that is done in parts.
// This is not thrashing.
TEST(BackAndForth, IsNotASweepOverTheBlock) {
    Block block;
    for (unsigned first = 0; first < HMMRT_POLICY_BLOCK_PAGES; first += granule) {
        block.now += lapse / 10;
        EXPECT_EQ(block.touch(first), HMMRT_HOLD_NOT);
        block.now += lapse / 10;
        EXPECT_FALSE(block.move(host, first));
    }
}

TEST(BackAndForth, IsNoticedOfPagesThatAreNotAWholeGranule) {
    Block block;
    for (int i = 0; i < 4; i++)
        block.move(i % 2 ? host : mine, granule - 1, 2);
    EXPECT_EQ(block.hold(0), HMMRT_HOLD_NAP);
    EXPECT_EQ(block.hold(granule), HMMRT_HOLD_NAP);
    EXPECT_EQ(block.hold(2 * granule), HMMRT_HOLD_NOT);
}

TEST(Throttle, LetsTheOtherSideWorkForANap) {
    Block block;
    block.thrash();
    block.move(host);
    block.knobs.of[HMMRT_KNOB_THRASHING_NAP] = 7;
    EXPECT_EQ(block.hold(), HMMRT_HOLD_NAP);
    EXPECT_EQ(block.nap, 7 * lapse);
    // A later fault waits for the rest of the nap.
    block.now += 2 * lapse;
    EXPECT_EQ(block.hold(), HMMRT_HOLD_SHARE);
    EXPECT_EQ(block.nap, 5 * lapse);
    EXPECT_EQ(block.state.throttles, 1u);
    // Faults elsewhere in the block do not wait.
    EXPECT_EQ(block.hold(5 * granule), HMMRT_HOLD_NOT);
}

TEST(Throttle, IsNeverForMoreThanASecond) {
    Block block;
    block.knobs.of[HMMRT_KNOB_THRASHING_NAP] = 100;
    block.thrash();
    block.move(host);
    const hmmrt_policy_pace slow = {&block.knobs, block.now, 500000};
    EXPECT_EQ(hmmrt_policy_hold(&block.state, 0, mine, &slow, &block.nap), HMMRT_HOLD_NAP);
    EXPECT_EQ(block.nap, 1000000u);
    EXPECT_EQ(block.state.when[0], block.now + 1000000);
}

TEST(Throttle, IsNotForTheProcessorThatHasThePage) {
    Block block;
    block.thrash();
    block.move(mine);
    EXPECT_EQ(block.hold(0, mine), HMMRT_HOLD_NOT);
    EXPECT_EQ(block.hold(0, other), HMMRT_HOLD_NAP);
}

TEST(Throttle, EndsAfterALapseWithoutAnotherProcessor) {
    Block block;
    block.thrash();
    block.move(host);
    block.now += lapse + 1;
    EXPECT_EQ(block.hold(), HMMRT_HOLD_NOT);
}

TEST(Pin, ComesAfterAsManyNapsAsTheKnobSays) {
    for (const unsigned naps : {1u, 2u, 10u, 100u}) {
        Block block;
        block.knobs.of[HMMRT_KNOB_THRASHING_PIN_THRESHOLD] = naps;
        EXPECT_NE(block.turns_until_pinned(naps + 10), 0u) << naps;
        EXPECT_EQ(block.state.throttles, naps);
        EXPECT_TRUE(block.pinned());
        EXPECT_EQ(block.hold(), HMMRT_HOLD_PINNED);
    }
}

TEST(Pin, LastsAsLongAsTheKnobSaysAndLeavesNothingBehind) {
    Block block;
    block.knobs.of[HMMRT_KNOB_THRASHING_PIN] = 20;
    ASSERT_NE(block.turns_until_pinned(20), 0u);
    const u64 began = block.now;
    block.now = began + 20 * lapse - 1;
    EXPECT_TRUE(block.pinned());
    block.now++;
    EXPECT_FALSE(block.pinned());
    EXPECT_EQ(block.hold(), HMMRT_HOLD_NOT);
    hmmrt_policy_forget(&block.state);
    EXPECT_EQ(block.hold(), HMMRT_HOLD_NOT);
    EXPECT_FALSE(block.state.thrashes);
    // Detection starts again.
    EXPECT_NE(block.turns_until_pinned(20), 0u);
}

TEST(Epoch, QuietClearsTheStateAndTooManyResetsEndDetection) {
    for (const unsigned most : {1u, 4u, 9u}) {
        Block block;
        block.knobs.of[HMMRT_KNOB_THRASHING_MAX_RESETS] = most;
        for (unsigned i = 0; i < most; i++) {
            block.thrash();
            ASSERT_TRUE(block.state.thrashes) << i;
            block.now += 2000 * lapse + 1;
            EXPECT_EQ(block.hold(), HMMRT_HOLD_NOT);
            EXPECT_FALSE(block.state.thrashes);
            EXPECT_EQ(block.state.resets, i + 1);
        }
        block.thrash();
        EXPECT_FALSE(block.state.thrashes);
        EXPECT_EQ(block.turns_until_pinned(100), 0u);
        // The process gives advice for the block: the state is cleared.
        block.state = {};
        EXPECT_NE(block.turns_until_pinned(100), 0u);
    }
}

TEST(Epoch, IsNotOverWhileSomethingMoves) {
    Block block;
    block.knobs.of[HMMRT_KNOB_THRASHING_EPOCH] = 5;
    block.thrash();
    for (int i = 0; i < 100; i++) {
        block.now += 4 * lapse;
        block.move(i % 2 ? host : mine);
        EXPECT_TRUE(block.state.thrashes);
    }
    block.now += 5 * lapse + 1;
    block.move(host);
    EXPECT_FALSE(block.state.thrashes);
}

TEST(Knob, SwitchesItOff) {
    Block block;
    block.knobs.of[HMMRT_KNOB_THRASHING_ENABLE] = 0;
    EXPECT_EQ(block.turns_until_pinned(1000), 0u);
    block.knobs.of[HMMRT_KNOB_THRASHING_ENABLE] = 1;
    block.thrash();
    block.move(host);
    block.knobs.of[HMMRT_KNOB_THRASHING_ENABLE] = 0;
    EXPECT_EQ(block.hold(), HMMRT_HOLD_NOT);
}

// --- random events -----------------------------------------------------------

unsigned seed() {
    const char* text = std::getenv("HMMRT_TEST_SEED");
    const unsigned value =
        text ? static_cast<unsigned>(std::strtoul(text, nullptr, 0)) : std::random_device()();
    std::cout << "HMMRT_TEST_SEED=" << value << "\n";
    return value;
}

hmmrt_knobs random_knobs(std::mt19937& random) {
    hmmrt_knobs knobs = default_knobs();
    const auto set = [&](hmmrt_knob_id knob, u32 most) {
        const u32 least = hmmrt_knob_describe(knob)->min;
        knobs.of[knob] = std::uniform_int_distribution<u32>(least, most)(random);
    };
    set(HMMRT_KNOB_THRASHING_THRESHOLD, 6);
    set(HMMRT_KNOB_THRASHING_PIN_THRESHOLD, 6);
    set(HMMRT_KNOB_THRASHING_NAP, 4);
    set(HMMRT_KNOB_THRASHING_PIN, 20);
    set(HMMRT_KNOB_THRASHING_EPOCH, 60);
    set(HMMRT_KNOB_THRASHING_MAX_RESETS, 5);
    return knobs;
}

// No sequence of events may make a device wait longer than a nap, or so often that it is neither
// served nor learns that the block is pinned. Every pin must end.
TEST(AnyStream, KeepsWaitsBoundedAndPinsFinite) {
    std::mt19937 random(seed());
    const auto pick = [&random](unsigned most) {
        return std::uniform_int_distribution<unsigned>(0, most)(random);
    };
    for (int stream = 0; stream < 300; stream++) {
        Block block;
        block.knobs = random_knobs(random);
        const u64 nap = block.knobs.of[HMMRT_KNOB_THRASHING_NAP] * lapse;
        const u64 pin = block.knobs.of[HMMRT_KNOB_THRASHING_PIN] * lapse;
        const u32 naps = block.knobs.of[HMMRT_KNOB_THRASHING_PIN_THRESHOLD];
        for (int event = 0; event < 2000; event++) {
            block.now += pick(20) ? pick(lapse) : pick(100 * lapse);
            const unsigned page = pick(3) ? 0 : pick(HMMRT_POLICY_BLOCK_PAGES - 1);
            switch (pick(5)) {
            case 0:
                block.move(host, page, 1 + pick(HMMRT_POLICY_BLOCK_PAGES - page - 1));
                break;
            case 1:
                if (!block.pinned()) hmmrt_policy_forget(&block.state);
                break;
            default: {
                const u8 processor = pick(1) ? mine : other;
                const auto before = block.state.throttles;
                const auto found = block.hold(page, processor);
                ASSERT_LE(block.state.throttles, naps);
                if (found == HMMRT_HOLD_NAP) {
                    ASSERT_EQ(block.nap, nap);
                    ASSERT_EQ(block.state.throttles, before + 1);
                }
                if (found == HMMRT_HOLD_SHARE) {
                    ASSERT_LE(block.nap, nap);
                    ASSERT_GT(block.nap, 0u);
                }
                if (found == HMMRT_HOLD_PIN) {
                    ASSERT_TRUE(block.pinned());
                    ASSERT_EQ(block.state.pinned_until, block.now + pin);
                }
                ASSERT_EQ(found == HMMRT_HOLD_PINNED || found == HMMRT_HOLD_PIN, block.pinned());
                if (!block.pinned()) block.move(processor, page / granule * granule);
            }
            }
            if (block.state.pinned_until && !block.pinned()) hmmrt_policy_forget(&block.state);
        }
    }
}

// If device and CPU keep touching in turn, the block is pinned after a bounded number of naps.
TEST(AnyStream, OfTurnsEndsInAPin) {
    std::mt19937 random(seed());
    for (int stream = 0; stream < 300; stream++) {
        Block block;
        block.knobs = random_knobs(random);
        const u64 pause = std::uniform_int_distribution<u64>(0, lapse)(random);
        const unsigned most = block.knobs.of[HMMRT_KNOB_THRASHING_THRESHOLD] +
                              block.knobs.of[HMMRT_KNOB_THRASHING_PIN_THRESHOLD] + 2;
        ASSERT_NE(block.turns_until_pinned(most, pause), 0u) << stream;
    }
}

// --- more blocks than the device has memory for ------------------------------

constexpr u64 pin_time = 300 * lapse;

// A device with a number of chunks that evicts the least recently used.
class SmallDevice {
  public:
    SmallDevice(unsigned chunks, unsigned blocks) : chunks_(chunks), refaults_(blocks) {}

    // Returns false if the block stays in system memory.
    bool use(unsigned which, u64 now) {
        const auto at = std::find(resident_.begin(), resident_.end(), which);
        if (at != resident_.end()) {
            resident_.erase(at);
        } else {
            const hmmrt_policy_pace pace = {&knobs_, now, lapse};
            const u64 pinned_until = refaults_[which].pinned_until;
            if (pinned_until != 0 && now >= pinned_until) refaults_[which] = {}; // released
            if (thrashes_after(&refaults_[which], evictions_, chunks_, &pace, chunks_))
                return false;
            moves_++;
            if (resident_.size() == chunks_) {
                evictions_++;
                evicted_at(&refaults_[resident_.front()], evictions_, now);
                resident_.erase(resident_.begin());
            }
        }
        resident_.push_back(which);
        return true;
    }

    unsigned moves() const { return moves_; }

  private:
    unsigned chunks_;
    hmmrt_knobs knobs_ = default_knobs();
    std::vector<hmmrt_policy_refaults> refaults_;
    std::vector<unsigned> resident_;
    unsigned long evictions_ = 0;
    unsigned moves_ = 0;
};

// Sweeps over all blocks. Returns how many uses of the last sweep were in
// system memory.
unsigned in_system_memory(SmallDevice& device, unsigned blocks, unsigned sweeps) {
    unsigned count = 0;
    for (unsigned sweep = 0; sweep < sweeps; sweep++) {
        count = 0;
        for (unsigned i = 0; i < blocks; i++)
            count += !device.use(i, 1000 * sweep);
    }
    return count;
}

TEST(Thrashing, IsNoneWhereAllFits) {
    SmallDevice device(64, 64);
    EXPECT_EQ(in_system_memory(device, 64, 20), 0u);
    EXPECT_EQ(device.moves(), 64u);
}

// Eviction takes the oldest block first: without detection each use of each
// sweep would be a move.
TEST(Thrashing, LeavesASmallExcessInSystemMemory) {
    SmallDevice device(64, 70);
    const unsigned count = in_system_memory(device, 70, 20);
    EXPECT_GE(count, 6u);
    EXPECT_LE(count, 35u);
    EXPECT_LT(device.moves(), 20u * 70 / 3);
}

TEST(Thrashing, IsNotThatMoreIsSweptThanWillEverFit) {
    for (const unsigned factor : {2u, 4u}) {
        SmallDevice device(64, 64 * factor);
        EXPECT_EQ(in_system_memory(device, 64 * factor, 20), 0u) << factor;
    }
}

// An access needs one block more than the device holds. After at most five
// sweeps a block stays in system memory, and the access can complete.
TEST(Thrashing, EndsAnAccessThatNeedsMoreThanThereIs) {
    for (const unsigned chunks : {1u, 2u, 3u, 4u}) {
        SmallDevice device(chunks, chunks + 1);
        unsigned sweeps = 0;
        while (!in_system_memory(device, chunks + 1, 1))
            ASSERT_LT(++sweeps, 5u) << chunks;
    }
}

// However slow migrations are, blocks that don't fit must stay in system memory for longer than it
// takes to detect that they don't fit.
TEST(Thrashing, OfRandomUsesEndsWithSlowMigrationsToo) {
    std::mt19937 random(7);
    for (const u64 migration : {100u, 5000u}) {
        SmallDevice device(32, 64);
        u64 now = 0;
        unsigned before = 0;
        for (int i = 0; i < 40000; i++) {
            if (i == 20000) before = device.moves();
            const unsigned moves = device.moves();
            device.use(static_cast<unsigned>(random()) % 64, now);
            now += 1 + (device.moves() - moves) * migration;
        }
        // Without detection every second use is a move.
        EXPECT_LT(device.moves() - before, 20000u / 50) << migration;
    }
}

// Even with thrashing detection switched off, an access that does not fit must complete.
TEST(Thrashing, OfWhatIsEvictedIsDetectedEvenIfSwitchedOff) {
    hmmrt_knobs knobs = default_knobs();
    knobs.of[HMMRT_KNOB_THRASHING_ENABLE] = 0;
    const hmmrt_policy_pace pace = {&knobs, 1000, lapse};
    hmmrt_policy_refaults refaults = {};
    for (int i = 0; i < 3; i++) {
        evicted_at(&refaults, 7);
        EXPECT_EQ(thrashes_after(&refaults, 7, 1, &pace), i == 2);
    }
}

TEST(Thrashing, OfWhatIsEvictedTakesAsManyRefaultsAsTheKnobSays) {
    for (const unsigned threshold : {1u, 5u, 20u}) {
        hmmrt_knobs knobs = default_knobs();
        knobs.of[HMMRT_KNOB_THRASHING_THRESHOLD] = threshold;
        const hmmrt_policy_pace pace = {&knobs, 1000, lapse};
        hmmrt_policy_refaults refaults = {};
        for (unsigned i = 1; i <= threshold; i++) {
            evicted_at(&refaults, i);
            EXPECT_EQ(thrashes_after(&refaults, i, 64, &pace), i == threshold);
        }
    }
}

TEST(Thrashing, IsOverAfterAWhile) {
    const hmmrt_knobs knobs = default_knobs();
    hmmrt_policy_pace pace = {&knobs, 1000000, lapse};
    hmmrt_policy_refaults refaults = {};
    unsigned long evictions = 0;
    bool thrashes = false;
    for (int i = 0; i < 3; i++) {
        evicted_at(&refaults, ++evictions, pace.now);
        EXPECT_FALSE(thrashes) << i;
        thrashes = thrashes_after(&refaults, evictions, 64, &pace);
    }
    EXPECT_TRUE(thrashes);
    pace.now += pin_time - 1;
    EXPECT_TRUE(thrashes_after(&refaults, evictions, 64, &pace));
    pace.now++;
    EXPECT_FALSE(thrashes_after(&refaults, evictions, 64, &pace));
    // After the release counting starts again: one more refault is not enough.
    refaults = {};
    evicted_at(&refaults, ++evictions, pace.now);
    EXPECT_FALSE(thrashes_after(&refaults, evictions, 64, &pace));
}

TEST(Thrashing, OfWhatIsEvictedPinsForAsLongAsItWarrants) {
    const hmmrt_knobs knobs = default_knobs();
    for (const u64 pause : {1000u, 100000u, 300000u, 999999u}) {
        hmmrt_policy_refaults refaults = {};
        u64 now = 5000;
        for (int i = 0; i < 3; i++) {
            evicted_at(&refaults, 1, now);
            now += pause;
            const hmmrt_policy_pace pace = {&knobs, now, lapse};
            thrashes_after(&refaults, 1, 1, &pace);
        }
        const u64 wanted = std::min<u64>(4 * 3 * pause, 10000000);
        EXPECT_EQ(refaults.pinned_until, now + std::max(wanted, pin_time)) << pause;
    }
}

// Refaults count only within an epoch. A small process that loses a chunk now
// and then does not thrash.
TEST(Thrashing, OfWhatIsEvictedIsWithinAnEpoch) {
    const hmmrt_knobs knobs = default_knobs();
    const std::uint64_t epoch = knobs.of[HMMRT_KNOB_THRASHING_EPOCH] * lapse;
    ASSERT_GE(epoch, 1000000u);
    for (const std::uint64_t pause : {epoch - 1, epoch}) {
        hmmrt_policy_refaults refaults = {};
        bool thrashes = false;
        std::uint64_t now = 0;
        for (int i = 0; i < 3; i++) {
            evicted_at(&refaults, 1, now);
            now += pause;
            const hmmrt_policy_pace pace = {&knobs, now, lapse};
            thrashes = thrashes_after(&refaults, 1, 1, &pace);
        }
        EXPECT_EQ(thrashes, pause < epoch);
    }
}

/// A device of a size, and the documented amounts for it.
struct Amounts {
    std::uint64_t chunks;    // 2 MiB each
    std::uint64_t least;     // chunks evicted in between
    std::uint64_t soon, pin; // in seconds
};

// Up to 256 MiB the amounts are the same. A larger device has more of all.
constexpr Amounts amounts[] = {
    {1, 8, 1, 10},        {8, 8, 1, 10},          {128, 8, 1, 10},
    {129, 8, 1, 10},      {256, 16, 2, 20},       {4096, 256, 32, 320},
    {8192, 512, 64, 640}, {40960, 2560, 64, 640}, {524288, 32768, 64, 640},
};

// Whether a block that is evicted and needed again at this distance is pinned.
u64 pinned_for(u64 size, u64 there, u64 distance, u64 pause) {
    const hmmrt_knobs knobs = default_knobs();
    hmmrt_policy_refaults refaults = {};
    u64 evicted = 0, now = 5000;
    for (int i = 0; i < 3; i++) {
        evicted_at(&refaults, evicted, now);
        evicted += distance;
        now += pause;
        const hmmrt_policy_pace pace = {&knobs, now, lapse / 2};
        if (thrashes_after(&refaults, evicted, there, &pace, size))
            return refaults.pinned_until - now;
    }
    return 0;
}

TEST(Thrashing, OfWhatIsEvictedScalesWithTheDevice) {
    for (const auto& [chunks, least, soon, pin] : amounts) {
        // Of a process that has little there.
        EXPECT_NE(pinned_for(chunks, 1, least - 1, 1000), 0u) << chunks;
        EXPECT_EQ(pinned_for(chunks, 1, least + 1, 1000), 0u) << chunks;
        // Of one that has all of it.
        const u64 half = std::max(chunks / 2, least);
        EXPECT_NE(pinned_for(chunks, chunks, half - 1, 1000), 0u) << chunks;
        EXPECT_EQ(pinned_for(chunks, chunks, half + 1, 1000), 0u) << chunks;
        // A second each, with a hundredth of it between: 129 chunks are a bit more than 128.
        EXPECT_NE(pinned_for(chunks, chunks, 1, 990000 * soon), 0u) << chunks;
        EXPECT_EQ(pinned_for(chunks, chunks, 1, 1010000 * soon), 0u) << chunks;
        const u64 longest = pinned_for(chunks, chunks, 1, 990000 * soon);
        EXPECT_GE(longest, 1000000 * pin) << chunks;
        EXPECT_LE(longest, 1010000 * pin) << chunks;
    }
}

// The knobs keep their meaning whatever the size of the device.
TEST(Thrashing, OfWhatIsEvictedFollowsTheKnobsOfALargeDevice) {
    hmmrt_knobs knobs = default_knobs();
    knobs.of[HMMRT_KNOB_THRASHING_THRESHOLD] = 2;
    knobs.of[HMMRT_KNOB_THRASHING_PIN] = 100000;
    knobs.of[HMMRT_KNOB_THRASHING_EPOCH] = 100000;
    const hmmrt_policy_pace pace = {&knobs, 99000000, lapse};
    hmmrt_policy_refaults refaults = {};
    for (int i = 1; i <= 2; i++) {
        evicted_at(&refaults, 1, 0);
        EXPECT_EQ(thrashes_after(&refaults, 1, 1, &pace, 524288), i == 2);
    }
    EXPECT_EQ(refaults.pinned_until, 99000000 + std::max<u64>(100000 * lapse, 4 * 99000000));
}

// No knob may keep an access that needs more memory than there is from
// completing. Faults may read the clock in a different order than they arrive.
TEST(Thrashing, OfWhatIsEvictedIsSeenWithTheShortestEpochAndClocksThatDiffer) {
    hmmrt_knobs knobs = default_knobs();
    knobs.of[HMMRT_KNOB_THRASHING_EPOCH] = 1;
    hmmrt_policy_refaults refaults = {};
    bool thrashes = false;
    for (int i = 0; i < 3; i++) {
        evicted_at(&refaults, 1, 1000);
        const std::uint64_t now = i == 1 ? 999 : 900000;
        const hmmrt_policy_pace pace = {&knobs, now, lapse};
        thrashes = thrashes_after(&refaults, 1, 1, &pace);
    }
    EXPECT_TRUE(thrashes);
}

TEST(Thrashing, HasNoMemoryOfWhatCameBackLate) {
    const hmmrt_knobs knobs = default_knobs();
    hmmrt_policy_refaults refaults = {};
    unsigned long evictions = 0;
    for (u64 i = 0; i < 20; i++) {
        const hmmrt_policy_pace pace = {&knobs, i, lapse};
        // Two early refaults, then a late one.
        const unsigned long distance = i % 3 == 2 ? 32 : 31;
        evicted_at(&refaults, evictions);
        evictions += distance;
        EXPECT_FALSE(thrashes_after(&refaults, evictions, 64, &pace)) << i;
    }
}

} // namespace
