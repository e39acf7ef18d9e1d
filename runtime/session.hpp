// SPDX-License-Identifier: MIT
/*
 * One agent from start to end: the slot, the control block, the parked threads, the
 * process. A device has at most one; after a reset the next launch makes another.
 *
 * Threads      submit() and stop() exclude each other by the device's lock. wait() and
 *              the queries may run at any time; who waits keeps the session alive by a
 *              shared_ptr, so that the control block stays mapped.
 * Never hangs  whoever waits looks from time to time whether the agent still lives.
 */
#pragma once

#include "own_memory.hpp"
#include "parked_thread.hpp"
#include "sys/fd.hpp"

#include "hmm/hmm_runtime.h"

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace hmmrt {

struct session_options {
    std::string device_path; ///< "/dev/hmmrt-gpu0"
    int space_fd;
    std::uint32_t lanes;
    bool strict;
};

/// What a launch needs besides its place in the queue.
struct launch_request {
    entry_kind kind = entry_kind::range;
    hmmRangeFunction_t function = nullptr;
    void* closure = nullptr;
    hmmDestroyFunction_t destroy = nullptr;
    std::uint64_t items = 0;
    std::uint64_t prefetch_addr = 0;
    std::uint64_t prefetch_len = 0;
    std::uint32_t prefetch_location = 0;
};

class session {
  public:
    /// Starts an agent; throws failure.
    session(parked_context& context, const session_options& options);
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    /// Queues work; false if the session ended while the queue was full.
    bool submit(const launch_request& request);
    /// Number of the launches submitted so far.
    std::uint32_t submitted() const;
    /// Waits for that many; false if the session ended first.
    bool wait(std::uint32_t target);
    /// Destroys the closures of launches that are over.
    void reap();
    /// Kills the agent, gives everything back. Idempotent.
    void stop();

    bool lost();
    /// The fault that stopped the device, NULL if none did.
    const fault_block* fault() const;
    /// errno of a failed prefetch, once; else 0.
    int take_prefetch_error();
    void set_strict(bool strict);
    std::uint32_t lanes() const;

  private:
    struct pending_closure {
        std::uint32_t sequence;
        void* closure;
        hmmDestroyFunction_t destroy;
    };

    void create_control(const session_options& options);
    void open_device(const session_options& options);
    void copy_kernel_maps();
    void start_agent();
    void await_agent();
    void destroy_closures(bool all);

    parked_context& context_;
    mapping slot_;
    control* ctl_ = nullptr;
    unique_fd control_file_;
    unique_fd gpu_;
    unique_fd pidfd_;
    std::vector<std::unique_ptr<parked_thread>,
                own_memory_allocator<std::unique_ptr<parked_thread>>>
        parked_;
    std::atomic<bool> ended_{false};
    bool stopped_ = false;

    std::mutex pending_lock_;
    /// Launches whose closure is still to be destroyed; never more than the ring holds.
    std::array<pending_closure, ring_entries> pending_;
    std::uint32_t pending_begin_ = 0;
    std::uint32_t pending_end_ = 0;
    std::mutex waiters_lock_;
    std::mutex stop_lock_;
};

} // namespace hmmrt
