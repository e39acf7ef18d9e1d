// SPDX-License-Identifier: MIT
/*
 * A parked thread: a real thread of the application that lends a lane its TLS,
 * the free part of its stack, and its identity for system calls.
 *
 * Memory: one mapping: [guard | stack, shared memory | TLS and thread
 * descriptor, private]. Shared memory never migrates, so the stack's pages
 * don't move between lane and thread, which take turns on the stack. The top
 * part is private because libc links all thread descriptors: fork() must copy
 * these, but children don't inherit the stack. The thread only accesses its TLS
 * when it starts and ends. In between, these pages may be on the device for the
 * lane.
 *
 * Constraint: serve_calls() runs while the lane uses the thread's TLS. It must
 * not use errno, locks, the allocator, or any function of libc.
 */
#pragma once

#include "agent/control.h"
#include "base/own_memory.hpp"
#include "sys/fd.hpp"
#include "thread/guarded_ranges.hpp"

#include <pthread.h>

namespace hmmrt {

/// State shared by all parked threads of the process.
struct parked_context {
    guarded_ranges guarded;
    std::int32_t process = 0;
    int break_signal = 0;
    /// Thread ids of all parked threads; 0 marks a free element.
    static constexpr std::size_t capacity = std::size_t{16} * max_lanes;
    std::atomic<std::int32_t> threads[capacity] = {};
};

class parked_thread : public in_own_memory {
  public:
    /// Starts the thread and sets the members that @lane borrows; throws
    /// failure.
    parked_thread(parked_context& context, control& ctl, std::uint32_t lane);
    parked_thread(const parked_thread&) = delete;
    parked_thread& operator=(const parked_thread&) = delete;
    /// Interrupts the thread's call, ends the thread and waits for it. The
    /// agent must have ended.
    ~parked_thread();

    // Called by the thread itself.
    void run();

  private:
    void allocate_stack();
    void start();
    void lend_thread();
    [[gnu::noinline]] void serve_calls();

    parked_context& context_;
    control& ctl_;
    lane_control& lane_;
    std::uint32_t index_;
    std::uint32_t entry_ = 0; ///< index in parked_context::threads
    std::int32_t tid_ = 0;
    /// The only request to end: call_state::quit just wakes the thread, since
    /// device code could write that state.
    std::atomic<bool> quit_{false};
    mapping memory_;
    std::uint64_t stack_end_ = 0; ///< end of the shared part
    pthread_t thread_ = {};
    futex_word ready_{0};
};

/// Executes one forwarded call, on a thread whose lane is using its TLS. @self
/// is the lane of that thread. Returns the result for the lane.
std::int64_t execute_forwarded_call(parked_context& context, control& ctl, std::uint32_t self);

/// Chooses a real-time signal that the program doesn't use, and installs a
/// handler that does nothing. Returns 0 if no signal is free.
int install_break_signal();

} // namespace hmmrt
