// SPDX-License-Identifier: MIT
/*
 * A session: the lifetime of a device's lanes. An executor runs them, in an
 * agent or as threads of this process. A device has at most one session. After
 * a reset, the next launch creates another.
 *
 * Its parts, from the bottom up:
 *
 *   session_lanes   whether the lanes live
 *   fault_keeper    the fault that stopped the device
 *   failure_watch   a thread that reports faults and lost agents
 *   host_queue      the application's side of each work_queue
 *   gate_worker     a thread for each queue, for host functions
 *
 * The session itself orders the queues among each other.
 *
 * Threads: any thread may call any function at any time. The caller holds a
 * shared_ptr to the session, so that the control block stays mapped. stop()
 * takes the lock of each queue once, so that nothing is submitted after it.
 *
 * Liveness: every wait periodically checks that the lanes aren't lost, so that
 * it can't hang.
 */
#pragma once

#include "session/failure_watch.hpp"
#include "session/fault_keeper.hpp"
#include "session/gate_worker.hpp"
#include "session/host_queue.hpp"
#include "session/session_lanes.hpp"
#include "session/work_request.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace hmmrt {

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

    host_queue& queue(std::uint32_t number) { return queues_[number]; }
    /// Waits for all work submitted so far to a set of queues.
    bool wait_all(std::uint32_t queues);
    bool reached_all(std::uint32_t queues) const;
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

    session_lanes& lanes() { return lanes_; }
    fault_keeper& faults() { return faults_; }
    failure_watch& watch() { return watch_; }
    bool ended() const { return lanes_.ended(); }
    bool lost() { return watch_.lost(); }
    const fault_record* fault() { return watch_.fault(); }
    bool is_quiet() const { return quiet_; }

  private:
    template <class Visit>
    void visit_used(std::uint32_t queues, Visit visit) const;
    entry_after dependencies(std::uint32_t queue, const event_point* after) const;
    std::uint32_t fill_work(ring_entry& entry, const work_request& request) const;
    void fill_entry(ring_entry& entry, const work_request& request, const entry_after& after) const;

    session_lanes lanes_;
    const bool quiet_;
    fault_keeper faults_;
    failure_watch watch_;
    bool stopped_ = false;

    std::array<host_queue, queue_count> queues_;
    std::array<gate_worker, queue_count> gates_;
    std::atomic<std::uint64_t> launches_{0};
    std::atomic<std::uint32_t> used_{0}; ///< mask of queues that have ever had work
    std::mutex users_lock_;
    /// number of streams of each queue
    std::array<std::uint32_t, queue_count> users_ = {};
    std::mutex stop_lock_;
};

} // namespace hmmrt
