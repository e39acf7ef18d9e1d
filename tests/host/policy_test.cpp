// SPDX-License-Identifier: MIT
// Policy: the properties of every window, and how many faults a block takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <numeric>
#include <random>
#include <vector>

extern "C" {
#include "policy.h"
}

namespace {

constexpr unsigned block = HMMRT_POLICY_BLOCK_PAGES;
constexpr unsigned granule = HMMRT_POLICY_GRANULE_PAGES;

constexpr hmmrt_advice unadvised = {
    .flags = 0,
    .accessed_by = 0,
    .preferred = HMMRT_LOCATION_NONE,
    .last_prefetch = HMMRT_LOCATION_NONE,
    .granularity = 0,
    .access = 0,
    .knobs = {},
};

hmmrt_knobs default_knobs() {
    const hmmrt_set_knobs none = {};
    hmmrt_knobs knobs = {};
    hmmrt_knobs_fill(&knobs, &none, nullptr, nullptr);
    return knobs;
}

const hmmrt_knobs defaults = default_knobs();

using Bits = std::bitset<block>;

/// Mapped pages of the blocks before and after, and the faults so far.
struct Around {
    unsigned before = 0, after = 0, faults = 1;
};

hmmrt_policy_window device_window(const Bits& mapped, unsigned page,
                                  const hmmrt_knobs& knobs = defaults, Around around = {}) {
    unsigned long map[block / 64] = {};
    for (unsigned i = 0; i < block; i++)
        if (mapped[i]) map[i / 64] |= 1UL << i % 64;
    const hmmrt_policy_density density = {map, around.faults, around.before, around.after};
    return hmmrt_policy_device_window(&density, page, &unadvised, &knobs);
}

hmmrt_policy_window host_window(hmmrt_policy_run& run, unsigned page,
                                const hmmrt_policy_run* before = nullptr,
                                const hmmrt_knobs& knobs = defaults) {
    return hmmrt_policy_host_window(&run, before, page, &unadvised, &knobs);
}

unsigned weight(const Bits& mapped, unsigned first, unsigned count) {
    unsigned n = 0;
    for (unsigned i = first; i < first + count; i++)
        n += mapped[i];
    return n;
}

// Maps a window for each fault. Returns how many faults it takes to map all
// pages in this order.
unsigned faults_for(const std::vector<unsigned>& pages, Bits mapped = {}) {
    unsigned faults = 0;
    for (unsigned page : pages) {
        if (mapped[page]) continue;
        const auto window = device_window(mapped, page);
        for (unsigned i = 0; i < window.count; i++)
            mapped.set(window.first + i);
        faults++;
    }
    return faults;
}

std::vector<unsigned> upwards() {
    std::vector<unsigned> pages(block);
    std::iota(pages.begin(), pages.end(), 0u);
    return pages;
}

Bits random_bits(std::mt19937& random) {
    Bits bits;
    // From nearly empty to nearly full, with single pages or whole granules.
    const double density = std::uniform_real_distribution<>(0, 1)(random);
    const unsigned unit = std::uniform_int_distribution<>(0, 1)(random) ? 1 : granule;
    std::bernoulli_distribution set(density);
    for (unsigned i = 0; i < block; i += unit)
        if (set(random))
            for (unsigned j = 0; j < unit; j++)
                bits.set(i + j);
    return bits;
}

// The documented rule: the largest window of which more than 51 % would be
// mapped.
hmmrt_policy_window model_window(const Bits& mapped, unsigned page) {
    const unsigned own = page / granule * granule;
    Bits after = mapped;
    for (unsigned i = 0; i < granule; i++)
        after.set(own + i);
    for (unsigned count = block; count > granule; count /= 2) {
        const unsigned first = page / count * count;
        if (100 * weight(after, first, count) > 51 * count) return {first, count};
    }
    return {own, granule};
}

TEST(DeviceWindow, IsAnAlignedPowerOfTwoAroundThePage) {
    std::mt19937 random(1);
    for (int i = 0; i < 2000; i++) {
        const Bits mapped = random_bits(random);
        const unsigned page = std::uniform_int_distribution<unsigned>(0, block - 1)(random);
        const auto window = device_window(mapped, page);
        ASSERT_GE(window.count, granule);
        ASSERT_LE(window.count, block);
        ASSERT_EQ(window.count & (window.count - 1), 0u);
        ASSERT_EQ(window.first % window.count, 0u);
        ASSERT_LE(window.first, page);
        ASSERT_GT(window.first + window.count, page);
        ASSERT_LE(window.first + window.count, block);
    }
}

// The manager counts the pages that fault now as mapped. Counting the page
// itself must not change the window.
TEST(DeviceWindow, IsTheSameWhetherOrNotThePageItselfCounts) {
    std::mt19937 random(21);
    for (int i = 0; i < 2000; i++) {
        Bits mapped = random_bits(random);
        const unsigned page = std::uniform_int_distribution<unsigned>(0, block - 1)(random);
        const auto without = device_window(mapped, page);
        const auto with = device_window(mapped.set(page), page);
        ASSERT_EQ(without.first, with.first);
        ASSERT_EQ(without.count, with.count);
    }
}

struct bitmap {
    explicit bitmap(const Bits& bits) {
        for (unsigned i = 0; i < block; i++)
            if (bits[i]) words[i / 64] |= 1UL << i % 64;
    }
    unsigned long words[block / 64] = {};
};

// A random window, a page in it, and the first page with the same advice.
struct at_random {
    explicit at_random(std::mt19937& random) {
        const unsigned count = granule << random() % 6;
        window = {static_cast<unsigned>(random()) % (block / count) * count, count};
        page = window.first + static_cast<unsigned>(random()) % count;
        lowest = static_cast<unsigned>(random()) % (page + 1);
    }
    [[nodiscard]] unsigned end() const { return window.first + window.count; }
    hmmrt_policy_window window;
    unsigned page, lowest;
};

TEST(Duplicates, AreInNoWindow) {
    std::mt19937 random(31);
    for (int i = 0; i < 3000; i++) {
        Bits duplicated = random_bits(random);
        const at_random at(random);
        duplicated.reset(at.page);
        const auto window =
            hmmrt_policy_without_duplicates(bitmap(duplicated).words, at.window, at.page);
        const unsigned end = window.first + window.count;
        ASSERT_EQ(weight(duplicated, window.first, window.count), 0u);
        ASSERT_LE(window.first, at.page);
        ASSERT_GT(end, at.page);
        ASSERT_GE(window.first, at.window.first);
        ASSERT_LE(end, at.end());
        // It ends only where it must.
        ASSERT_TRUE(window.first == at.window.first || duplicated[window.first - 1]);
        ASSERT_TRUE(end == at.end() || duplicated[end]);
    }
}

TEST(WriteWindow, TakesAsManyPagesAsWereWrittenBefore) {
    std::mt19937 random(32);
    for (int i = 0; i < 3000; i++) {
        const Bits writable = random_bits(random);
        const at_random at(random);
        const auto window =
            hmmrt_policy_write_window(bitmap(writable).words, at.window, at.lowest, at.page);
        unsigned run = 0;
        while (at.page - run > at.lowest && writable[at.page - run - 1])
            run++;
        ASSERT_EQ(window.first, at.page);
        ASSERT_EQ(window.count, std::min(std::max(run, 1u), at.end() - at.page));
    }
}

TEST(DeviceWindow, TakesNeighboursThatFaultAsWell) {
    Bits faulted;
    faulted.set(0).set(granule).set(2 * granule + 3);
    EXPECT_EQ(device_window(Bits(), 0).count, granule);
    EXPECT_GE(device_window(faulted, 0).count, 2 * granule);
}

TEST(DeviceWindow, IsTheLargestThatWouldBeMoreThanHalfMapped) {
    std::mt19937 random(2);
    for (int i = 0; i < 3000; i++) {
        const Bits mapped = random_bits(random);
        const unsigned page = std::uniform_int_distribution<unsigned>(0, block - 1)(random);
        const auto window = device_window(mapped, page);
        const auto expected = model_window(mapped, page);
        ASSERT_EQ(window.first, expected.first) << mapped << " page " << page;
        ASSERT_EQ(window.count, expected.count) << mapped << " page " << page;
    }
}

TEST(DeviceWindow, OfAnEmptyBlockIsOneGranule) {
    for (unsigned page = 0; page < block; page++) {
        const auto window = device_window({}, page);
        EXPECT_EQ(window.count, granule);
        EXPECT_EQ(window.first, page / granule * granule);
    }
}

TEST(DeviceWindow, OfAFullBlockIsTheBlock) {
    const auto window = device_window(Bits().set(), 77);
    EXPECT_EQ(window.first, 0u);
    EXPECT_EQ(window.count, block);
}

// The window depends on how much is mapped, not on which pages.
TEST(DeviceWindow, DoesNotShrinkWhenMoreIsMapped) {
    std::mt19937 random(3);
    for (int i = 0; i < 200; i++) {
        Bits mapped = random_bits(random);
        const unsigned page = std::uniform_int_distribution<unsigned>(0, block - 1)(random);
        unsigned last = 0;
        for (int more = 0; more < 16; more++) {
            const auto window = device_window(mapped, page);
            ASSERT_GE(window.count, last);
            last = window.count;
            mapped |= random_bits(random) & random_bits(random);
        }
    }
}

TEST(DeviceWindow, SweepOverABlockTakesSixFaults) {
    auto pages = upwards();
    EXPECT_EQ(faults_for(pages), 6u);
    std::reverse(pages.begin(), pages.end());
    EXPECT_EQ(faults_for(pages), 6u);
}

TEST(DeviceWindow, RandomOrderTakesFewerFaultsThanGranules) {
    std::mt19937 random(4);
    for (int i = 0; i < 50; i++) {
        auto pages = upwards();
        std::shuffle(pages.begin(), pages.end(), random);
        const unsigned faults = faults_for(pages);
        EXPECT_GE(faults, 6u);
        EXPECT_LE(faults, block / granule);
    }
}

// One page in every fourth granule: the policy must not take this for a sweep.
TEST(DeviceWindow, SparseTouchesStaySmall) {
    std::vector<unsigned> pages;
    for (unsigned page = 0; page < block; page += 4 * granule)
        pages.push_back(page);
    Bits mapped;
    for (unsigned page : pages) {
        const auto window = device_window(mapped, page);
        EXPECT_EQ(window.count, granule);
        for (unsigned i = 0; i < window.count; i++)
            mapped.set(window.first + i);
    }
    EXPECT_EQ(mapped.count(), pages.size() * granule);
}

TEST(DeviceWindow, IsAsDenseAsTheThresholdSays) {
    hmmrt_knobs knobs = defaults;
    knobs.of[HMMRT_KNOB_PREFETCH_THRESHOLD] = 100;
    std::mt19937 random(14);
    for (int i = 0; i < 500; i++) {
        const unsigned page = std::uniform_int_distribution<unsigned>(0, block - 1)(random);
        // The threshold is more than can be mapped: no window is dense enough.
        EXPECT_EQ(device_window(random_bits(random), page, knobs).count, granule);
    }
    knobs.of[HMMRT_KNOB_PREFETCH_THRESHOLD] = 1;
    EXPECT_EQ(device_window({}, 100, knobs).count, block);
    // With one granule mapped, 16 of 64 pages are 25 %.
    knobs.of[HMMRT_KNOB_PREFETCH_THRESHOLD] = 24;
    EXPECT_EQ(device_window({}, 100, knobs).count, 4 * granule);
    knobs.of[HMMRT_KNOB_PREFETCH_THRESHOLD] = 25;
    EXPECT_EQ(device_window({}, 100, knobs).count, 2 * granule);
}

TEST(DeviceWindow, IsAGranuleWherePrefetchIsOffOrNotYetEarned) {
    hmmrt_knobs off = defaults, late = defaults;
    off.of[HMMRT_KNOB_PREFETCH_ENABLE] = 0;
    late.of[HMMRT_KNOB_PREFETCH_MIN_FAULTS] = 5;
    const Bits full = Bits().set();
    EXPECT_EQ(device_window(full, 77, off, {block, block, 99}).count, granule);
    EXPECT_EQ(device_window(full, 77, late, {0, 0, 4}).count, granule);
    EXPECT_EQ(device_window(full, 77, late, {0, 0, 5}).count, block);
}

TEST(DeviceWindow, OfABlockThatASweepEntersIsTheBlock) {
    for (unsigned page = 0; page < block; page++) {
        const bool up = page < granule, down = page >= block - granule;
        EXPECT_EQ(device_window({}, page, defaults, {block, 0, 1}).count, up ? block : granule);
        EXPECT_EQ(device_window({}, page, defaults, {0, block, 1}).count, down ? block : granule);
    }
    // 51 % of a block are 261.12 pages.
    EXPECT_EQ(device_window({}, 0, defaults, {261, 0, 1}).count, granule);
    EXPECT_EQ(device_window({}, 0, defaults, {262, 0, 1}).count, block);
    hmmrt_knobs alone = defaults;
    alone.of[HMMRT_KNOB_PREFETCH_ACROSS_BLOCKS] = 0;
    EXPECT_EQ(device_window({}, 0, alone, {block, 0, 1}).count, granule);
}

// --- CPU faults --------------------------------------------------------------

void expect_sane(const hmmrt_policy_window& window, unsigned page) {
    EXPECT_LE(window.first, page);
    EXPECT_GT(window.first + window.count, page);
    EXPECT_LE(window.first + window.count, block);
    EXPECT_GE(window.count, 1u);
}

TEST(HostWindow, FirstOneIsTheGranuleOfThePage) {
    for (unsigned page = 0; page < block; page++) {
        hmmrt_policy_run run = {};
        const auto window = host_window(run, page);
        EXPECT_EQ(window.first, page / granule * granule);
        EXPECT_EQ(window.count, granule);
    }
}

TEST(HostWindow, ContainsThePageAndEndsWithTheBlock) {
    std::mt19937 random(5);
    hmmrt_policy_run run = {};
    for (int i = 0; i < 20000; i++) {
        const bool go_on = std::uniform_int_distribution<>(0, 2)(random) && run.next < block;
        const unsigned page =
            go_on ? run.next : std::uniform_int_distribution<unsigned>(0, block - 1)(random);
        expect_sane(host_window(run, page), page);
        if (HasFailure()) return;
    }
}

TEST(HostWindow, DoublesForEachFaultThatGoesOn) {
    hmmrt_policy_run run = {};
    std::vector<unsigned> counts;
    for (unsigned page = 0; page < block;) {
        const auto window = host_window(run, page);
        EXPECT_EQ(window.first, page);
        counts.push_back(window.count);
        page = window.first + window.count;
    }
    EXPECT_EQ(counts, (std::vector<unsigned>{16, 32, 64, 128, 256, 16}));
}

TEST(HostWindow, StartsAgainAfterAJump) {
    hmmrt_policy_run run = {};
    host_window(run, 0);
    EXPECT_EQ(host_window(run, 16).count, 32u);
    EXPECT_EQ(host_window(run, 200).count, granule);
    EXPECT_EQ(host_window(run, 208).count, 32u);
}

// Another thread held a page while its window moved, and moves it later.
TEST(HostWindow, APageThatWasLeftBehindDoesNotEndTheRun) {
    hmmrt_policy_run run = {};
    host_window(run, 0);
    host_window(run, 16);
    EXPECT_TRUE(hmmrt_policy_left_behind(&run, 16, 1));
    EXPECT_TRUE(hmmrt_policy_left_behind(&run, 47, 1));
    EXPECT_FALSE(hmmrt_policy_left_behind(&run, 47, 2));
    EXPECT_FALSE(hmmrt_policy_left_behind(&run, 15, 1));
    EXPECT_FALSE(hmmrt_policy_left_behind(&run, 48, 1));
    const hmmrt_policy_run none = {};
    EXPECT_FALSE(hmmrt_policy_left_behind(&none, 0, 1));
}

TEST(HostWindow, ARunHasThePagesOfItsLastWindow) {
    hmmrt_policy_run run = {};
    EXPECT_FALSE(hmmrt_policy_run_has(&run, 0, HMMRT_POLICY_BLOCK_PAGES));
    host_window(run, 0);
    host_window(run, 16);
    EXPECT_TRUE(hmmrt_policy_run_has(&run, 0, HMMRT_POLICY_BLOCK_PAGES));
    EXPECT_TRUE(hmmrt_policy_run_has(&run, 0, 17));
    EXPECT_TRUE(hmmrt_policy_run_has(&run, 47, 1));
    EXPECT_FALSE(hmmrt_policy_run_has(&run, 0, 16));
    EXPECT_FALSE(hmmrt_policy_run_has(&run, 48, HMMRT_POLICY_BLOCK_PAGES - 48));
}

// After the last page of a block no fault can continue the run.
TEST(HostWindow, AfterTheLastPageTheNextRunStartsAgain) {
    hmmrt_policy_run run = {};
    host_window(run, block - granule);
    EXPECT_EQ(host_window(run, 0).count, granule);
}

// The CPU reads several blocks in order: the first one in growing windows, the
// following ones each in one window.
TEST(HostWindow, OfABlockAfterOneThatWasReadThroughIsTheBlock) {
    hmmrt_policy_run first = {}, second = {}, third = {};
    for (unsigned page = 0; page < block;)
        page += host_window(first, page).count;
    EXPECT_EQ(host_window(second, 0, &first).count, block);
    EXPECT_EQ(host_window(third, 0, &second).count, block);
    hmmrt_policy_run inside = {}, alone = {};
    EXPECT_EQ(host_window(inside, 1, &first).count, granule);
    hmmrt_knobs knobs = defaults;
    knobs.of[HMMRT_KNOB_PREFETCH_ACROSS_BLOCKS] = 0;
    EXPECT_EQ(host_window(alone, 0, &first, knobs).count, granule);
}

TEST(HostWindow, OfABlockAfterOneThatWasReadInPartIsAGranule) {
    hmmrt_policy_run tail = {}, half = {}, next = {};
    host_window(tail, block - granule);
    EXPECT_EQ(host_window(next, 0, &tail).count, granule);
    for (unsigned page = 0; page < block / 4;)
        page += host_window(half, page).count;
    next = {};
    EXPECT_EQ(host_window(next, 0, &half).count, granule);
}

TEST(HostWindow, HasTheTouchedPageHoweverSmallItMustBe) {
    std::mt19937 random(15);
    hmmrt_knobs knobs = defaults;
    hmmrt_policy_run run = {};
    for (int i = 0; i < 20000; i++) {
        const bool go_on = std::uniform_int_distribution<>(0, 1)(random) && run.next < block;
        const unsigned page =
            go_on ? run.next : std::uniform_int_distribution<unsigned>(0, block - 1)(random);
        const unsigned most = std::uniform_int_distribution<unsigned>(1, block)(random);
        knobs.of[HMMRT_KNOB_CPU_FAULT_MAX_PAGES] = most;
        const auto window = host_window(run, page, nullptr, knobs);
        expect_sane(window, page);
        EXPECT_LE(window.count, most);
        if (HasFailure()) return;
    }
}

// A CPU page as large as the block moves as a whole.
TEST(PolicyHugeWindow, TakesTheBlockWhereTheCpuHasItAsOnePage) {
    for (unsigned page = 0; page < block; page += granule) {
        const hmmrt_policy_window small = {page, granule};
        for (unsigned order : {9u, 10u, 18u}) {
            const auto window = hmmrt_policy_huge_window(small, order, true);
            EXPECT_EQ(window.first, 0u) << page;
            EXPECT_EQ(window.count, block) << page;
        }
    }
}

TEST(PolicyHugeWindow, LeavesOtherWindowsAsTheyWere) {
    const hmmrt_policy_window small = {3 * granule, granule};
    for (unsigned order = 0; order < 9; order++) {
        const auto window = hmmrt_policy_huge_window(small, order, true);
        EXPECT_EQ(window.first, small.first) << order;
        EXPECT_EQ(window.count, small.count) << order;
    }
    const auto outside = hmmrt_policy_huge_window(small, 9, false);
    EXPECT_EQ(outside.first, small.first);
    EXPECT_EQ(outside.count, small.count);
}

TEST(PolicyStayWindow, IsTheBlockUnlessSomethingElseIsAskedFor) {
    const hmmrt_policy_window small = {3 * granule, granule};
    const auto window = [&small](const hmmrt_advice& advice, const hmmrt_knobs& knobs) {
        return hmmrt_policy_stay_window(small, &advice, &knobs);
    };
    EXPECT_EQ(window(unadvised, defaults).first, 0u);
    EXPECT_EQ(window(unadvised, defaults).count, block);

    hmmrt_advice advice = unadvised;
    advice.granularity = 65536;
    EXPECT_EQ(window(advice, defaults).first, small.first);
    EXPECT_EQ(window(advice, defaults).count, small.count);
    // A remote entry would keep the device from getting a duplicate.
    advice = unadvised;
    advice.flags = HMMRT_RANGE_READ_MOSTLY;
    EXPECT_EQ(window(advice, defaults).count, small.count);
    for (const auto& [knob, value] :
         {std::pair{HMMRT_KNOB_READ_DUPLICATION, 1u}, std::pair{HMMRT_KNOB_PREFETCH_ENABLE, 0u}}) {
        hmmrt_knobs knobs = defaults;
        knobs.of[knob] = value;
        EXPECT_EQ(window(unadvised, knobs).first, small.first) << knob;
        EXPECT_EQ(window(unadvised, knobs).count, small.count) << knob;
    }
}

hmmrt_advice advised(uint32_t flags, uint32_t preferred, uint32_t accessed_by) {
    hmmrt_advice advice = unadvised;
    advice.flags = flags;
    advice.preferred = preferred;
    advice.accessed_by = accessed_by;
    return advice;
}

constexpr uint32_t no_location = HMMRT_LOCATION_NONE;

// Returns what the policy wants for a page that device 3 touches, if only advice decides.
hmmrt_policy_want touched(const hmmrt_advice& advice, bool write) {
    hmmrt_policy_page page = {};
    page.advice = &advice;
    page.device = 3;
    page.write = write;
    page.migratable = true;
    return hmmrt_policy_residency(&page).want;
}

TEST(PolicyTouched, MovesPagesWithoutAdvice) {
    for (const bool write : {false, true})
        EXPECT_EQ(touched(unadvised, write), HMMRT_POLICY_MOVE);
}

// Each line has the advice, and the results of a read and of a write by device 3.
TEST(PolicyTouched, AsksAdviceInOrder) {
    const struct {
        hmmrt_advice advice;
        hmmrt_policy_want read, write;
    } table[] = {
        {advised(HMMRT_RANGE_NO_MIGRATE, no_location, 0), HMMRT_POLICY_STAY, HMMRT_POLICY_STAY},
        {advised(HMMRT_RANGE_NO_MIGRATE | HMMRT_RANGE_READ_MOSTLY, 3, 0), HMMRT_POLICY_STAY,
         HMMRT_POLICY_STAY},
        {advised(HMMRT_RANGE_READ_MOSTLY, no_location, 0), HMMRT_POLICY_DUPLICATE,
         HMMRT_POLICY_MOVE},
        {advised(HMMRT_RANGE_READ_MOSTLY, HMMRT_LOCATION_HOST, 0), HMMRT_POLICY_DUPLICATE,
         HMMRT_POLICY_STAY},
        {advised(HMMRT_RANGE_READ_MOSTLY, no_location, 1u << 3), HMMRT_POLICY_DUPLICATE,
         HMMRT_POLICY_MOVE},
        {advised(0, 3, 0), HMMRT_POLICY_MOVE, HMMRT_POLICY_MOVE},
        {advised(0, 3, 1u << 3), HMMRT_POLICY_MOVE, HMMRT_POLICY_MOVE},
        {advised(0, 2, 0), HMMRT_POLICY_STAY, HMMRT_POLICY_STAY},
        {advised(0, HMMRT_LOCATION_HOST, 0), HMMRT_POLICY_STAY, HMMRT_POLICY_STAY},
        {advised(0, HMMRT_LOCATION_HOST_NODE(1), 0), HMMRT_POLICY_STAY, HMMRT_POLICY_STAY},
        {advised(0, no_location, 1u << 3), HMMRT_POLICY_STAY, HMMRT_POLICY_STAY},
        {advised(0, no_location, 1u << 2 | HMMRT_BY_CPU), HMMRT_POLICY_MOVE, HMMRT_POLICY_MOVE},
    };
    for (const auto& row : table) {
        const auto at = &row - table;
        EXPECT_EQ(touched(row.advice, false), row.read) << at;
        EXPECT_EQ(touched(row.advice, true), row.write) << at;
    }
}

// Each rule with its condition, in the documented order.
struct Rule {
    hmmrt_policy_rule rule;
    hmmrt_policy_want want;
    bool (*applies)(const hmmrt_policy_page& page);
};

bool has(const hmmrt_policy_page& page, uint32_t flag) {
    return page.advice->flags & flag;
}

const Rule rules[] = {
    {HMMRT_RULE_NOT_MIGRATABLE, HMMRT_POLICY_STAY,
     [](const hmmrt_policy_page& page) { return !page.migratable; }},
    {HMMRT_RULE_NO_MIGRATE, HMMRT_POLICY_STAY,
     [](const hmmrt_policy_page& page) { return has(page, HMMRT_RANGE_NO_MIGRATE); }},
    {HMMRT_RULE_NEVER, HMMRT_POLICY_STAY,
     [](const hmmrt_policy_page& page) { return page.migration_policy == HMMRT_MIGRATE_NEVER; }},
    {HMMRT_RULE_TOO_SMALL, HMMRT_POLICY_STAY,
     [](const hmmrt_policy_page& page) { return page.too_small; }},
    {HMMRT_RULE_READ_MOSTLY_READ, HMMRT_POLICY_DUPLICATE,
     [](const hmmrt_policy_page& page) {
         return has(page, HMMRT_RANGE_READ_MOSTLY) && !page.write;
     }},
    {HMMRT_RULE_PREFERRED_HERE, HMMRT_POLICY_MOVE,
     [](const hmmrt_policy_page& page) { return page.advice->preferred == page.device; }},
    {HMMRT_RULE_PREFERRED_ELSEWHERE, HMMRT_POLICY_STAY,
     [](const hmmrt_policy_page& page) { return page.advice->preferred != no_location; }},
    {HMMRT_RULE_THRASHING, HMMRT_POLICY_STAY,
     [](const hmmrt_policy_page& page) { return page.pinned; }},
    {HMMRT_RULE_READ_MOSTLY_WRITE, HMMRT_POLICY_MOVE,
     [](const hmmrt_policy_page& page) { return has(page, HMMRT_RANGE_READ_MOSTLY); }},
    {HMMRT_RULE_ACCESSED_BY, HMMRT_POLICY_STAY,
     [](const hmmrt_policy_page& page) {
         return (page.advice->accessed_by >> page.device & 1) != 0;
     }},
    {HMMRT_RULE_ON_COUNT, HMMRT_POLICY_STAY,
     [](const hmmrt_policy_page& page) {
         return page.migration_policy == HMMRT_MIGRATE_ON_COUNT && !page.counted;
     }},
    {HMMRT_RULE_READ_DUPLICATION, HMMRT_POLICY_DUPLICATE,
     [](const hmmrt_policy_page& page) { return page.read_duplication && !page.write; }},
    {HMMRT_RULE_DEFAULT, HMMRT_POLICY_MOVE, [](const hmmrt_policy_page&) { return true; }},
};

// Tries every combination of all inputs of a decision: the first rule that
// applies must decide.
TEST(PolicyResidency, IsTheFirstRuleThatApplies) {
    std::bitset<HMMRT_RULES> seen;
    for (unsigned bits = 0; bits < 1u << 9; bits++)
        for (uint32_t policy = HMMRT_MIGRATE_ON_TOUCH; policy <= HMMRT_MIGRATE_NEVER; policy++)
            for (uint32_t preferred : {no_location, 3u, 2u, uint32_t(HMMRT_LOCATION_HOST),
                                       uint32_t(HMMRT_LOCATION_HOST_NODE(1))}) {
                const auto bit = [bits](unsigned n) { return (bits >> n & 1) != 0; };
                const auto advice = advised((bit(0) ? HMMRT_RANGE_NO_MIGRATE : 0) |
                                                (bit(1) ? HMMRT_RANGE_READ_MOSTLY : 0),
                                            preferred, bit(2) ? 1u << 3 : 1u << 2);
                const hmmrt_policy_page page = {&advice, 3,      policy, bit(8), bit(3),
                                                bit(4),  bit(5), bit(6), bit(7)};
                const auto* expected =
                    std::find_if(std::begin(rules), std::end(rules),
                                 [&page](const Rule& rule) { return rule.applies(page); });
                const auto found = hmmrt_policy_residency(&page);
                ASSERT_EQ(found.rule, expected->rule) << bits << " " << policy << " " << preferred;
                ASSERT_EQ(found.want, expected->want) << found.rule;
                seen.set(found.rule);
            }
    // All rules were seen, except for "nothing was decided".
    EXPECT_EQ(seen.count(), HMMRT_RULES - 1u);
}

TEST(PolicyPrefetched, GoesWhereItIsToldUnlessNothingMayMove) {
    const auto pinned = advised(HMMRT_RANGE_NO_MIGRATE | HMMRT_RANGE_READ_MOSTLY, no_location, 0);
    const auto copied = advised(HMMRT_RANGE_READ_MOSTLY, 2, 0);
    const auto elsewhere = advised(0, HMMRT_LOCATION_HOST, 1u << 3);
    EXPECT_EQ(hmmrt_policy_prefetched(&copied, false), HMMRT_POLICY_DUPLICATE);
    EXPECT_EQ(hmmrt_policy_prefetched(&elsewhere, false), HMMRT_POLICY_MOVE);
    EXPECT_EQ(hmmrt_policy_prefetched(&elsewhere, true), HMMRT_POLICY_DUPLICATE);
    for (const bool read_duplication : {false, true})
        EXPECT_EQ(hmmrt_policy_prefetched(&pinned, read_duplication), HMMRT_POLICY_STAY);
}

TEST(PolicyWindows, AreAsLargeAsAdvised) {
    for (unsigned count = 1; count <= block; count *= 2) {
        hmmrt_advice advice = unadvised;
        advice.granularity = count * HMMRT_POLICY_PAGE_SIZE;
        for (unsigned page = 0; page < block; page += 7) {
            const unsigned long none[block / 64] = {};
            const hmmrt_policy_density density = {none, 1, block, block};
            hmmrt_policy_run run = {};
            const auto device = hmmrt_policy_device_window(&density, page, &advice, &defaults);
            const auto host = hmmrt_policy_host_window(&run, nullptr, page, &advice, &defaults);
            for (const auto& window : {device, host}) {
                EXPECT_EQ(window.count, count);
                EXPECT_EQ(window.first, page / count * count);
            }
        }
    }
}

TEST(HostWindow, IsOnePageOfMemoryThatADeviceIsPreferredFor) {
    const auto advice = advised(0, 3, 0);
    hmmrt_policy_run run = {};
    for (const unsigned page : {0u, 1u, 2u, 300u}) {
        const auto window = hmmrt_policy_host_window(&run, nullptr, page, &advice, &defaults);
        EXPECT_EQ(window.first, page);
        EXPECT_EQ(window.count, 1u);
    }
}

TEST(Watermark, IsAShareOfAllPages) {
    for (unsigned percent = 0; percent <= 50; percent++)
        for (unsigned long used = 0; used <= 1000; used++)
            ASSERT_EQ(hmmrt_policy_is_below(1000, used, percent), 1000 - used < 10 * percent);
    EXPECT_FALSE(hmmrt_policy_is_below(1000, 2000, 0));
    // Numbers with a product that does not fit into 32 bits.
    EXPECT_TRUE(hmmrt_policy_is_below(1UL << 40, (1UL << 40) - 1, 1));
    EXPECT_FALSE(hmmrt_policy_is_below(1UL << 40, 1UL << 39, 50));
}

} // namespace
