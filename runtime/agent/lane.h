// SPDX-License-Identifier: MIT
/*
 * A lane: a thread of the agent that runs device code.
 *
 * Its area in the slot is aligned to lane_area_size, so that signal handlers
 * can find their lane from the stack pointer. They can't use segment registers,
 * because FS belongs to the program, and GS may.
 *
 *      +0      struct lane
 *      +8K     guard page, signal stack above it
 *      +112K   guard page, stack of the lane's own loop above it
 *
 * Device code runs on the free part of the parked thread's stack, which is the
 * application's memory. The kernel can't write there on behalf of the lane,
 * because the mirror only handles user-mode accesses. So all signal handlers
 * run on the signal stack.
 */
#pragma once

#include "control.h"
#include "syscall.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hmmrt::agent {

inline constexpr std::uint64_t signal_stack_offset = 12u << 10;
inline constexpr std::uint64_t signal_stack_end = 112u << 10;
inline constexpr std::uint64_t loop_stack_offset = 116u << 10;

struct lane {
    // lane_call() in start.S depends on these offsets.
    std::uint64_t saved_stack;                ///< 0
    std::atomic<std::uint32_t>* running;      ///< 8
    const std::atomic<std::uint32_t>* sticky; ///< 16
    std::uint32_t mxcsr;                      ///< 24
    std::uint32_t x87_control;                ///< 28
    std::uint64_t walk_stack;                 ///< 32; for walk_call()

    control* ctl;
    lane_control* shared;
    std::uint32_t index;
    std::int32_t agent_pid;
    std::uint64_t signal_mask; ///< virtual mask set by device code
    bool walking;              ///< inside walk_call()
};
static_assert(offsetof(lane, running) == 8 && offsetof(lane, sticky) == 16);
static_assert(offsetof(lane, mxcsr) == 24 && offsetof(lane, x87_control) == 28);
static_assert(offsetof(lane, walk_stack) == 32);
static_assert(sizeof(lane) <= 2 * page_size);

inline lane* lane_of_stack() {
    return reinterpret_cast<lane*>(address_of(__builtin_frame_address(0)) & ~(lane_area_size - 1));
}

inline std::uint64_t lane_area(const control& ctl, std::uint32_t index) {
    return ctl.slot + slot_lanes_offset + index * lane_area_size;
}

// Defined by start.S and agent.lds, in the image: their addresses need no relocations.
#pragma GCC visibility push(hidden)
extern "C" {

extern const char image_begin[], image_end[];
void signal_restorer();
/// Runs fn(closure, begin, end) on @stack. Returns 0, or 1 if the lane was
/// stopped.
int lane_call(lane* self, std::uint64_t fn, std::uint64_t closure, std::uint64_t begin,
              std::uint64_t end, std::uint64_t stack);
/// A stopped lane continues here, and lane_call() returns 1. RBX = lane, RSP =
/// saved_stack.
void lane_call_stopped();
/// Calls fn(first, second) on the current stack, which is the signal stack.
void walk_call(lane* self, std::uint64_t fn, std::uint64_t first, std::uint64_t second);
/// A stopped walk continues here, and walk_call() returns. RBX = lane, RSP =
/// walk_stack.
void walk_call_stopped();
/// Creates a thread that calls entry(argument) on @stack and never returns.
std::int64_t clone_thread(std::uint64_t flags, std::uint64_t stack, void (*entry)(void*),
                          void* argument);
/// Calls entry(argument) on @stack and never returns.
[[noreturn]] void continue_on_stack(std::uint64_t entry, std::uint64_t argument,
                                    std::uint64_t stack);

} // extern "C"
#pragma GCC visibility pop

/// Prepares the calling thread to be this lane. Returns 0 or -errno.
std::int64_t lane_prepare(lane& self, boot_step& step);
[[noreturn]] void run_lane(lane& self);

/// Installs the signal handlers, once for the process. Returns 0 or -errno.
std::int64_t install_signal_handlers();

/// Has the parked thread execute a call, and waits for the result.
std::int64_t request_call(lane& self, call_kind kind, std::int64_t number,
                          const std::uint64_t (&args)[6]);
/// Waits until an interrupted call has completed, and discards its result.
void settle_call(lane& self);

} // namespace hmmrt::agent
