// SPDX-License-Identifier: MIT
/*
 * One agent from start to end: the slot, the control block, the parked threads, the
 * process. A device has at most one; after a reset the next launch makes another.
 *
 * Threads      all may be called at any time; who calls keeps the session alive by a
 *              shared_ptr, so that the control block stays mapped. Whoever submits to a
 *              queue holds the queue's lock, but not while it waits for room; stop()
 *              takes each of them once, so that nothing is submitted after it.
 * Places       in a queue are counted in 64 bits here and in 32 in the control block:
 *              "reached" is then true for ever.
 * Gates        work of the program's own threads, between entries of a queue: a gate
 *              stands in the queue, and the queue's worker opens it. A worker starts
 *              with the first gate and goes when there has been none for a while. It
 *              runs with all signals blocked but those that its own instructions cause.
 *              stop() waits for it; exit() does not.
 * Never hangs  whoever waits looks from time to time whether the agent still lives.
 */
#pragma once

#include "own_memory.hpp"
#include "parked_thread.hpp"
#include "sys/fd.hpp"

#include "hmm/hmm_runtime.h"

#include <array>
#include <condition_variable>
#include <list>
#include <memory>
#include <memory_resource>
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

class session;

/// Places of other queues that an entry waits for.
struct entry_after {
    std::uint32_t mask = 0;
    std::array<std::uint64_t, queue_count> place = {};

    void add(std::uint32_t queue, std::uint64_t to) {
        mask |= 1u << queue;
        if (to > place[queue]) place[queue] = to;
    }
};

/// Where an event was recorded: it has happened when the queue has got there.
struct event_point {
    std::shared_ptr<session> running;
    std::uint32_t queue = 0;
    std::uint64_t place = 0;
    std::atomic<std::uint64_t> nanoseconds{0}; ///< for stamps, after reap()
};

/// What happens at a gate. One of the two.
struct gate_task {
    hmmHostFn_t function = nullptr;
    void* data = nullptr;
    hmmDestroyFunction_t destroy = nullptr; ///< of data; called also if the function is not
    std::shared_ptr<event_point> event;     ///< of another session
};

/// What an entry needs besides its place in the queue.
struct work_request {
    entry_kind kind = entry_kind::range;
    hmmRangeFunction_t function = nullptr;
    void* closure = nullptr;
    hmmDestroyFunction_t destroy = nullptr;
    std::uint64_t items = 0;
    prefetch_work prefetch = {};
    advice_work advice = {};
    discard_work discard = {};
    const gate_task* gate = nullptr;
    /// The event that this entry is: gets its place, and the time of a stamp.
    std::shared_ptr<event_point> records;
    const event_point* after = nullptr; ///< of this session
};

class session : public std::enable_shared_from_this<session> {
  public:
    /// Starts an agent; throws failure.
    session(parked_context& context, const session_options& options);
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    /// Queues work and returns the place behind it; 0 if the session ended.
    std::uint64_t submit(std::uint32_t queue, const work_request& request);
    /// The place behind all that was submitted to the queue.
    std::uint64_t submitted(std::uint32_t queue) const;
    bool reached(std::uint32_t queue, std::uint64_t place) const;
    /// Waits for a place; false if the session ended first, or @waiting failed or ended.
    bool wait(std::uint32_t queue, std::uint64_t place, const session* waiting = nullptr);
    /// For all that was submitted before to a set of queues.
    bool wait_all(std::uint32_t queues);
    bool reached_all(std::uint32_t queues) const;
    /// For work that is over: destroys the closures, keeps the times of stamps.
    void reap(std::uint32_t queue);
    void reap_all(std::uint32_t queues);
    /// After stop(): destroys what is left. Calls the program, so no lock is held.
    void reap_rest();
    /// Of a device that has failed: until no host function is being called, and what came
    /// with those that were queued is destroyed. None is called any more. Of an agent that
    /// is gone, what came with those that were not called may be left for stop().
    void await_host_functions(std::uint32_t queues);

    /// A queue for a stream, which has to give it back.
    std::uint32_t take_queue(bool blocking, bool high_priority);
    void give_queue(std::uint32_t queue);

    /// Kills the agent, gives everything back. Idempotent.
    void stop();

    bool lost();
    bool ended() const { return ended_.load(); }
    /// Begins nothing any more: it ended, or its device has a fault.
    bool over() const { return ended_.load() || ctl_->sticky.load() != 0; }
    /// The fault that stopped the device, NULL if none did. Stays as it is for good. An agent that
    /// does not come to the end of describing its fault is killed, and its cause stays unknown.
    const fault_block* fault();
    /// As control::memory_error, once; else 0.
    std::uint64_t take_memory_error();
    void set_strict(bool strict);
    std::uint32_t lanes() const;

  private:
    /// What is to be done when an entry is over.
    struct aftermath {
        std::uint64_t place;
        void* closure;
        hmmDestroyFunction_t destroy;
        std::shared_ptr<event_point> stamp;
    };
    struct waiting_gate {
        std::uint64_t place;
        entry_after after;
        gate_task task;
    };

    /// The application's side of a work_queue.
    struct queue_state {
        std::mutex lock; ///< of who submits
        std::atomic<std::uint64_t> submitted{0};
        std::mutex waiters_lock;

        std::mutex aftermath_lock;
        /// By place, which are less than ring_entries apart; empty until there is work.
        std::vector<aftermath, own_memory_allocator<aftermath>> aftermaths;
        std::uint64_t aftermath_begin = 0;
        std::uint64_t aftermath_end = 0;

        std::mutex gates_lock;
        std::condition_variable gates_changed;
        std::condition_variable gate_over;
        bool busy = false; ///< the worker has a gate that is no longer in the list
        bool left = false; ///< the session ended, and the worker has passed all gates
        std::pmr::list<waiting_gate> gates{own_pool()};
        bool has_worker = false;
        pthread_t worker = {};
    };

    void create_control(const session_options& options);
    std::uint64_t open_device(const session_options& options);
    void copy_kernel_maps();
    void start_agent();
    void await_agent();
    void close_control();
    void await_record();
    work_queue& shared(std::uint32_t queue) const { return ctl_->queues[queue]; }
    entry_after dependencies(std::uint32_t queue, const event_point* after) const;
    bool await_room(std::uint32_t queue, std::unique_lock<std::mutex>& lock);
    bool has_room(std::uint32_t queue);
    std::uint32_t fill_work(ring_entry& entry, const work_request& request) const;
    void fill_entry(ring_entry& entry, const work_request& request, const entry_after& after);
    void remember(queue_state& state, const work_request& request, std::uint64_t place);
    void reap(std::uint32_t queue, bool all);

    // workers.cpp
    void add_gate(std::uint32_t queue, waiting_gate gate);
    void start_worker(std::uint32_t queue);
    static void* worker_main(void* argument);
    void serve_gates(std::uint32_t queue);
    bool next_gate(queue_state& state, waiting_gate& out);
    void pass_gate(std::uint32_t queue, waiting_gate& gate);
    void end_gate(queue_state& state);
    void join_workers();

    parked_context& context_;
    mapping slot_;
    control* ctl_ = nullptr;
    unique_fd control_file_; ///< until the agent runs
    unique_fd gpu_;
    unique_fd pidfd_;
    unique_fd kill_reader_;
    unique_fd kill_writer_;
    std::vector<std::unique_ptr<parked_thread>,
                own_memory_allocator<std::unique_ptr<parked_thread>>>
        parked_;
    std::atomic<bool> ended_{false};
    bool stopped_ = false;

    std::array<queue_state, queue_count> queues_;
    std::atomic<std::uint32_t> used_{0}; ///< queues that ever got work
    std::mutex users_lock_;
    std::array<std::uint32_t, queue_count> users_ = {}; ///< streams of each queue
    std::mutex stop_lock_;

    std::mutex fault_lock_;
    std::atomic<bool> has_fault_{false};
    fault_block fault_ = {}; ///< written once, under the lock, before has_fault_ is true
};

/// True in a function that hmmLaunchHostFunc() got.
bool calling_thread_is_host_function();

} // namespace hmmrt
