// SPDX-License-Identifier: MIT
// What programs ask before they launch.
#include "memory_fixture.hpp"

#include <cstring>

namespace {

class Queries : public MemoryOverFakes {};

TEST_F(Queries, ReservedMembersAreZero) {
    const auto expect_zeroes = [](const auto& reserved) {
        for (const auto each : reserved)
            EXPECT_EQ(each, 0u);
    };
    const auto fill = [](auto& what) {
        std::memset(static_cast<void*>(&what), 0xff, sizeof(what));
    };
    hmmDeviceProp prop;
    fill(prop);
    ASSERT_EQ(hmmGetDeviceProperties(&prop, 0), hmmSuccess);
    expect_zeroes(prop.reserved);
    hmmPrefetchReport report;
    fill(report);
    ASSERT_EQ(hmmMemPrefetchWithReport(memory().data(), page, on(0), nullptr, 0, &report),
              hmmSuccess);
    expect_zeroes(report.reserved);
    hmmPageState state;
    fill(state);
    ASSERT_EQ(hmmMemGetResidency(memory().data(), page, &state, 1), hmmSuccess);
    expect_zeroes(state.reserved);
    hmmKnob knob;
    fill(knob);
    ASSERT_EQ(hmmKnobGetByIndex(&knob, 0), hmmSuccess);
    expect_zeroes(knob.reserved);
    hmmQuota quota;
    fill(quota);
    ASSERT_EQ(hmmQuotaGet(&quota, {hmmQuotaScopeTypeProcess, 0}), hmmSuccess);
    expect_zeroes(quota.reserved);
    hmmFaultRecord record;
    fill(record);
    ASSERT_EQ(hmmGetLastFault(&record), hmmSuccess);
    expect_zeroes(record.reserved);
}

} // namespace
