// SPDX-License-Identifier: MIT
// Knobs: the table is consistent, and the right value applies where several are
// set.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

extern "C" {
#include "policy.h"
}

namespace {

TEST(Knobs, HaveDistinctNamesAndValidDefaults) {
    std::set<std::string> names;
    for (std::uint32_t knob = 0; knob < HMMRT_KNOBS; knob++) {
        const hmmrt_knob_info* info = hmmrt_knob_describe(knob);
        ASSERT_NE(info, nullptr);
        ASSERT_NE(info->name, nullptr) << knob;
        EXPECT_LT(std::string(info->name).size(), static_cast<std::size_t>(HMMRT_KNOB_NAME_LEN));
        EXPECT_TRUE(names.insert(info->name).second) << info->name;
        EXPECT_TRUE(hmmrt_knob_valid(knob, HMMRT_SCOPE_DEVICE, info->by_default)) << info->name;
        EXPECT_FALSE(hmmrt_knob_valid(knob, HMMRT_SCOPE_DEVICE, info->max + 1)) << info->name;
        if (info->min) {
            EXPECT_FALSE(hmmrt_knob_valid(knob, HMMRT_SCOPE_DEVICE, info->min - 1)) << info->name;
        }
    }
    EXPECT_EQ(hmmrt_knob_describe(HMMRT_KNOBS), nullptr);
    EXPECT_EQ(hmmrt_knob_describe(UINT32_MAX), nullptr);
}

TEST(Knobs, OfRangesHaveASlotEach) {
    std::set<std::uint32_t> slots;
    for (std::uint32_t knob = 0; knob < HMMRT_KNOBS; knob++) {
        const hmmrt_knob_info* info = hmmrt_knob_describe(knob);
        if (!(info->scopes & HMMRT_SCOPE_RANGE)) continue;
        EXPECT_LT(info->slot, static_cast<std::uint32_t>(HMMRT_RANGE_KNOBS)) << info->name;
        EXPECT_TRUE(slots.insert(info->slot).second) << info->name;
    }
    EXPECT_EQ(slots.size(), static_cast<std::size_t>(HMMRT_RANGE_KNOBS));
}

TEST(Knobs, AreOnlySetWhereTheyCanBe) {
    EXPECT_TRUE(hmmrt_knob_valid(HMMRT_KNOB_PREFETCH_THRESHOLD, HMMRT_SCOPE_RANGE, 75));
    EXPECT_TRUE(hmmrt_knob_valid(HMMRT_KNOB_FAULT_BATCH_COUNT, HMMRT_SCOPE_SPACE, 1));
    EXPECT_FALSE(hmmrt_knob_valid(HMMRT_KNOB_FAULT_BATCH_COUNT, HMMRT_SCOPE_RANGE, 1));
    EXPECT_FALSE(hmmrt_knob_valid(HMMRT_KNOB_OVERSUBSCRIPTION, HMMRT_SCOPE_SPACE, 1));
    EXPECT_FALSE(hmmrt_knob_valid(HMMRT_KNOBS, HMMRT_SCOPE_DEVICE, 0));
}

TEST(Knobs, OfARangeGoBeforeThoseOfTheProcessAndThoseBeforeTheDevices) {
    constexpr std::uint32_t knob = HMMRT_KNOB_PREFETCH_THRESHOLD;
    hmmrt_set_knobs device = {}, space = {};
    hmmrt_range_knobs range = {};
    EXPECT_EQ(hmmrt_knob_value(knob, &device, &space, &range), 51u);
    device.set[knob] = 10 + 1;
    EXPECT_EQ(hmmrt_knob_value(knob, &device, &space, &range), 10u);
    EXPECT_EQ(hmmrt_knob_value(knob, &device, nullptr, nullptr), 10u);
    space.set[knob] = 20 + 1;
    EXPECT_EQ(hmmrt_knob_value(knob, &device, &space, &range), 20u);
    range.set[hmmrt_knob_describe(knob)->slot] = 30 + 1;
    EXPECT_EQ(hmmrt_knob_value(knob, &device, &space, &range), 30u);
    space.set[knob] = 0;
    EXPECT_EQ(hmmrt_knob_value(knob, &device, &space, &range), 30u);
    range = {};
    EXPECT_EQ(hmmrt_knob_value(knob, &device, &space, &range), 10u);
}

// Knobs that cannot be set for ranges have slot 0, which belongs to another
// knob, and must not read it.
TEST(Knobs, WithoutASlotAreNotOfARange) {
    hmmrt_set_knobs device = {};
    hmmrt_range_knobs range = {};
    for (auto& set : range.set)
        set = 1 + 1;
    hmmrt_knobs knobs = {};
    hmmrt_knobs_fill(&knobs, &device, nullptr, &range);
    for (std::uint32_t knob = 0; knob < HMMRT_KNOBS; knob++) {
        const hmmrt_knob_info* info = hmmrt_knob_describe(knob);
        const bool ranged = info->scopes & HMMRT_SCOPE_RANGE;
        EXPECT_EQ(knobs.of[knob], ranged ? 1u : info->by_default) << info->name;
    }
}

TEST(Knobs, CanBeSetToNothing) {
    hmmrt_set_knobs device = {};
    device.set[HMMRT_KNOB_PREFETCH_ENABLE] = 0 + 1;
    EXPECT_EQ(hmmrt_knob_value(HMMRT_KNOB_PREFETCH_ENABLE, &device, nullptr, nullptr), 0u);
}

} // namespace
