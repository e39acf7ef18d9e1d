// SPDX-License-Identifier: MIT
// How a lane records that its device code has failed.
#pragma once

#include "control.h"
#include "futex.h"

#include <linux/hmmrt.h>
#include <ucontext.h>

namespace hmmrt {

inline code_state code_state_of(const ucontext_t& context) {
    const auto value = [&](int index) {
        return static_cast<std::uint64_t>(context.uc_mcontext.gregs[index]);
    };
    return {value(REG_RIP), value(REG_RSP), value(REG_RBX), value(REG_RBP),
            value(REG_R12), value(REG_R13), value(REG_R14), value(REG_R15)};
}

/// @error_code is that of the x86 page fault.
inline std::uint32_t access_of_page_fault(std::uint64_t error_code) {
    constexpr std::uint64_t write = 2, fetch = 16;
    if ((error_code & fetch) != 0) return HMMRT_ACCESS_EXEC;
    return (error_code & write) != 0 ? HMMRT_ACCESS_WRITE : HMMRT_ACCESS_READ;
}

/// Adds the lane, its stack, and what it was running.
inline void describe_lane(fault_record& fault, const lane_control& lane, std::uint32_t index) {
    fault.lane = index;
    fault.function = lane.function.load(std::memory_order_relaxed);
    fault.first_item = lane.first_item.load(std::memory_order_relaxed);
    fault.item_count = lane.item_count.load(std::memory_order_relaxed);
    fault.stack_low = lane.stack_low;
    fault.stack_bytes = lane.stack_bytes;
    fault.thread = lane.fs_base;
}

/// Records the device's fault; @walk() adds the frames to control::fault.
/// Returns false if the device already had a fault, which stays.
template <class Walk>
bool record_fault(control& ctl, const fault_record& fault, Walk walk) {
    auto expected = static_cast<std::uint32_t>(sticky_state::none);
    const auto recording = static_cast<std::uint32_t>(sticky_state::recording);
    if (!ctl.sticky.compare_exchange_strong(expected, recording)) return false;
    ctl.fault = fault;
    ctl.sticky.store(static_cast<std::uint32_t>(sticky_state::walking));
    walk();
    ctl.sticky.store(static_cast<std::uint32_t>(sticky_state::ending));
    ctl.watch.fetch_add(1);
    futex_wake(ctl.watch, INT32_MAX);
    return true;
}

} // namespace hmmrt
