// SPDX-License-Identifier: MIT
/*
 * A session: the lifetime of a device's lanes. An executor runs them, in an
 * agent or as threads of this process. A device has at most one session. After
 * a reset, the next launch creates another.
 *
 * Threads: any thread may call any function at any time. The caller holds a
 * shared_ptr to the session, so that the control block stays mapped. Submitting
 * takes the queue's lock, but we don't hold it while we wait for space in the
 * queue. stop() takes each of these locks once, so that nothing is submitted
 * after it.
 *
 * We count positions in a queue with 64 bits, although the control block only
 * has 32, so that "reached" never becomes false again.
 *
 * Gates: work of the program's own threads, ordered between entries of a queue.
 * A gate is an entry in the queue, which the queue's worker opens. A worker
 * starts with the first gate, and exits when there has been no gate for a
 * while. It blocks all signals except those that its own instructions raise.
 * stop() waits for the worker; exit() doesn't.
 *
 * Failures: a thread reports them to standard error, see failure_watch.hpp.
 *
 * Liveness: every wait periodically checks that the lanes aren't lost, so that
 * it can't hang.
 */
#pragma once

#include "executor.hpp"
#include "failure_watch.hpp"
#include "report.hpp"

#include "hmm/hmm_runtime.h"

#include <array>
#include <condition_variable>
#include <exception>
#include <list>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <vector>

namespace hmmrt {

struct session_options {
    int device = 0;
    bool quiet = false; ///< writes nothing to standard error
    /// time limit of a launch in milliseconds; 0 if there is no limit
    std::uint64_t launch_limit = 0;
};

class session;

inline constexpr std::uint32_t all_queues = (1u << queue_count) - 1;

/// Positions of other queues that an entry waits for.
struct entry_after {
    std::uint32_t mask = 0;
    std::array<std::uint64_t, queue_count> position = {};

    void add(std::uint32_t queue, std::uint64_t to) {
        mask |= 1u << queue;
        if (to > position[queue]) position[queue] = to;
    }
};

/// The position at which an event was recorded. The event has completed when
/// the queue has reached this position.
struct event_point {
    std::shared_ptr<session> running;
    std::uint32_t queue = 0;
    std::uint64_t position = 0;
    /// only valid for stamps, after reap()
    std::atomic<std::uint64_t> nanoseconds{0};
};

/// The action at a gate: a function or an event.
struct gate_task {
    hmmHostFn_t function = nullptr;
    void* data = nullptr;
    /// destroys data; called even if the function isn't
    hmmDestroyFunction_t destroy = nullptr;
    std::shared_ptr<event_point> event; ///< of another session
};

/// Everything that an entry needs except its position in the queue.
struct work_request {
    entry_kind kind = entry_kind::range;
    hmmRangeFunction_t function = nullptr;
    const void* named = nullptr; ///< the function to name in messages, if not `function`
    void* closure = nullptr;
    hmmDestroyFunction_t destroy = nullptr;
    std::uint64_t items = 0;
    prefetch_work prefetch = {};
    advice_work advice = {};
    discard_work discard = {};
    const gate_task* gate = nullptr;
    /// The event that this entry records; receives the position, and the time
    /// of a stamp.
    std::shared_ptr<event_point> records;
    /// a position of this session to wait for
    const event_point* after = nullptr;
};

class session : public std::enable_shared_from_this<session> {
  public:
    /// Starts the watch; throws failure.
    session(std::unique_ptr<executor> lanes, const session_options& options);
    session(const session&) = delete;
    session& operator=(const session&) = delete;
    ~session();

    /// Queues work and returns the position after it; 0 if the session has
    /// ended.
    std::uint64_t submit(std::uint32_t queue, const work_request& request);
    /// Number of kernels, copies and fills that were submitted.
    std::uint64_t launches() const { return launches_.load(std::memory_order_relaxed); }
    /// The position after all work that was submitted to the queue.
    std::uint64_t submitted(std::uint32_t queue) const;
    bool reached(std::uint32_t queue, std::uint64_t position) const;
    /// Waits for a position; false if the session ended first. Reports a long
    /// wait to standard error.
    bool wait(std::uint32_t queue, std::uint64_t position);
    /// As above, but doesn't report a long wait. Also returns false if @waiting
    /// failed or ended.
    bool wait_quietly(std::uint32_t queue, std::uint64_t position,
                      const session* waiting = nullptr);
    /// Waits for all work submitted so far to a set of queues.
    bool wait_all(std::uint32_t queues);
    bool reached_all(std::uint32_t queues) const;
    /// Destroys the closures of completed work and stores the times of stamps.
    void reap(std::uint32_t queue);
    void reap_all(std::uint32_t queues);
    /// Destroys the remaining closures after stop(). Calls the program, so the
    /// caller must not hold a lock.
    void reap_rest();
    /// For a failed device: waits until no host function is running and the
    /// data of queued host functions is destroyed. No host function is called
    /// from then on. If the agent has ended, stop() may destroy the data of
    /// functions that were not called.
    void await_host_functions(std::uint32_t queues);

    /// Assigns a queue to a stream, which must return it with give_queue().
    std::uint32_t take_queue(bool blocking, bool high_priority);
    void give_queue(std::uint32_t queue);

    /// Ends the lanes and releases all resources. Idempotent.
    void stop();

    bool lost();
    /// True if lost() has found that the agent ended on its own.
    bool is_lost() const { return lost_.load(); }
    bool ended() const { return ended_.load(); }
    /// True if the session starts no more work: it ended, or its device has a
    /// fault.
    bool over() const { return ended_.load() || ctl_->sticky.load() != 0; }
    /// Returns the fault that stopped the device, or NULL. The fault never
    /// changes, and its report has been written when this returns. An agent
    /// that doesn't finish recording its fault is killed; then the cause is
    /// unknown.
    const fault_block* fault();
    /// The place of the fault's instruction in the program, "" if unknown.
    const char* fault_place() const { return watch_->place(); }
    /// The exception that left the kernel, if that was the fault; otherwise
    /// empty.
    std::exception_ptr exception();
    /// Its type and text, "" if there is none.
    const char* exception_text() const { return exception_text_; }
    /// The program has seen the error of the failed device.
    void set_seen() { seen_.store(true); }
    bool is_seen() const { return seen_.load(); }
    bool is_quiet() const { return quiet_; }

    // launch_time.cpp; for the failure_watch
    bool has_running_lanes() const;
    void get_running_lanes(running_lanes& out) const;
    void kill_agent();
    /// Fails the device if a launch has taken longer than @milliseconds.
    void limit_launches(std::uint64_t milliseconds);

    /// Returns control::memory_error and clears it; 0 if none.
    std::uint64_t take_memory_error();
    void set_strict(bool strict);
    std::uint32_t lanes() const;

  private:
    /// Work to do in the application when an entry has completed.
    struct aftermath {
        std::uint64_t position;
        void* closure;
        hmmDestroyFunction_t destroy;
        std::shared_ptr<event_point> stamp;
    };
    struct waiting_gate {
        std::uint64_t position;
        entry_after after;
        gate_task task;
    };

    /// The application's side of a work_queue.
    struct queue_state {
        std::mutex lock; ///< held while submitting
        std::atomic<std::uint64_t> submitted{0};
        std::mutex waiters_lock;

        std::mutex aftermath_lock;
        /// Sorted by position; the positions are less than ring_entries apart.
        /// Empty until the queue is first used.
        std::vector<aftermath, own_memory_allocator<aftermath>> aftermaths;
        std::uint64_t aftermath_begin = 0;
        std::uint64_t aftermath_end = 0;

        std::mutex gates_lock;
        std::condition_variable gates_changed;
        std::condition_variable gate_over;
        /// the worker is processing a gate, already removed from the list
        bool busy = false;
        /// the session ended, and the worker has processed all gates
        bool left = false;
        std::pmr::list<waiting_gate> gates{own_pool()};
        bool has_worker = false;
        pthread_t worker = {};
    };

    void await_record();
    void keep_fault();
    void end_for_sanitizer() const;
    bool wait(std::uint32_t queue, std::uint64_t position, const session* waiting, bool tell);
    void fail_for_time(const ring_entry& entry, std::uint64_t milliseconds);
    work_queue& shared(std::uint32_t queue) const { return ctl_->queues[queue]; }
    entry_after dependencies(std::uint32_t queue, const event_point* after) const;
    bool await_free_entry(std::uint32_t queue, std::unique_lock<std::mutex>& lock);
    bool has_free_entry(std::uint32_t queue);
    std::uint32_t fill_work(ring_entry& entry, const work_request& request) const;
    void fill_entry(ring_entry& entry, const work_request& request, const entry_after& after);
    void remember(queue_state& state, const work_request& request, std::uint64_t position);
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

    const std::unique_ptr<executor> executor_;
    control* const ctl_; ///< the executor's
    std::atomic<bool> ended_{false};
    std::atomic<bool> lost_{false};
    std::atomic<bool> stopping_{false}; ///< stop() is ending the lanes, so they aren't lost
    std::atomic<bool> seen_{false};
    const int device_;
    const bool quiet_;
    std::optional<failure_watch> watch_; ///< set when the agent has started
    bool stopped_ = false;

    std::array<queue_state, queue_count> queues_;
    std::atomic<std::uint64_t> launches_{0};
    std::atomic<std::uint32_t> used_{0}; ///< mask of queues that have ever had work
    std::mutex users_lock_;
    /// number of streams of each queue
    std::array<std::uint32_t, queue_count> users_ = {};
    std::mutex stop_lock_;

    std::mutex fault_lock_;
    std::atomic<bool> has_fault_{false};
    /// written once, under the lock, before has_fault_ is true
    fault_block fault_ = {};
    std::exception_ptr exception_; ///< protected like fault_
    char exception_text_[512] = "";

    /// The launch that a queue is running.
    struct launch_time {
        std::uint32_t sequence = 0;
        std::uint64_t since = 0; ///< in milliseconds; 0 if no launch runs
    };
    std::array<launch_time, queue_count> launch_times_; ///< only used by the watch
    // when the session started
    std::uint64_t first_ticks_ = 0;
    std::uint64_t first_milliseconds_ = 0;
};

/// True if the caller runs in a host function (hmmLaunchHostFunc()).
bool calling_thread_is_host_function();

} // namespace hmmrt
