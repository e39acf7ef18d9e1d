// SPDX-License-Identifier: MIT
/*
 * A real thread of the application that a lane borrows: its TLS, the free part of
 * its stack, and its identity for system calls.
 *
 * Memory     one block: [guard | stack, shared memory | TLS and thread descriptor,
 *            private]. Shared memory never migrates, so that lane and thread, which
 *            take turns on the stack, do not make its pages travel. The top is private
 *            because libc links all thread descriptors: fork() must copy them, while
 *            the stack is kept out of children. The thread touches its TLS only when it
 *            starts and ends; the lane may have it on the device in between.
 * Between    serve_calls() runs while the lane uses the thread's TLS: it must not
 *            touch errno, locks, the allocator, or any function of libc.
 */
#pragma once

#include "agent/control.h"
#include "guarded_ranges.hpp"
#include "own_memory.hpp"
#include "sys/fd.hpp"

#include <pthread.h>

namespace hmmrt {

/// Of the stack that lanes run on.
std::size_t lane_stack_bytes();

/// What all parked threads of the process share.
struct parked_context {
    guarded_ranges guarded;
    std::int32_t process = 0;
    int break_signal = 0;
    /// Thread ids of all parked threads; 0 is a free place.
    static constexpr std::size_t capacity = std::size_t{16} * max_lanes;
    std::atomic<std::int32_t> threads[capacity] = {};
};

class parked_thread : public in_own_memory {
  public:
    /// Starts the thread and fills in what @lane borrows; throws failure.
    parked_thread(parked_context& context, control& ctl, std::uint32_t lane);
    parked_thread(const parked_thread&) = delete;
    parked_thread& operator=(const parked_thread&) = delete;
    /// Breaks its call, ends it and waits. Only when the agent is gone.
    ~parked_thread();

    // For the thread itself.
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
    std::uint32_t place_ = 0; ///< in parked_context::threads
    std::int32_t tid_ = 0;
    std::atomic<bool> quit_{false}; ///< call_state::quit only wakes: device code can write that
    mapping block_;
    std::uint64_t stack_end_ = 0; ///< end of the shared part
    pthread_t thread_ = {};
    futex_word ready_{0};
};

/// True in a kernel that calls back into the runtime: its thread-local storage tells.
bool calling_thread_is_lane();

/// Chooses a real-time signal that the program does not use and gives it a handler
/// that does nothing; 0 if there is none.
int install_break_signal();

} // namespace hmmrt
