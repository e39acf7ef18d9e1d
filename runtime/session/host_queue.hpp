// SPDX-License-Identifier: MIT
/*
 * The application's side of a work_queue: publishes entries, waits for
 * positions, and does the work that is left when an entry has completed.
 *
 * We count positions with 64 bits, although the control block only has 32, so
 * that "reached" never becomes false again.
 *
 * Locking: submitting takes the queue's lock, but we don't hold it while we
 * wait for space in the queue.
 */
#pragma once

#include "base/own_memory.hpp"
#include "session/failure_watch.hpp"
#include "session/session_lanes.hpp"
#include "session/work_request.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace hmmrt {

class host_queue {
  public:
    /// Call this before all other functions.
    void attach(session_lanes& lanes, failure_watch& watch, std::uint32_t number);

    /// The position after all work that was submitted to the queue.
    std::uint64_t submitted() const { return submitted_.load(); }
    bool reached(std::uint64_t position) const;
    bool idle() const { return reached(submitted()); }
    /// Waits for a position; false if the session ended first. Reports a long
    /// wait to standard error.
    bool wait(std::uint64_t position);
    /// As above, but doesn't report a long wait. Also returns false if the
    /// session of @waiting failed or ended.
    bool wait_quietly(std::uint64_t position, const session_lanes* waiting = nullptr);
    /// Destroys the closures of completed work and stores the times of stamps.
    void reap() { reap(false); }
    /// As above, for all work, after the session's end. Calls the program, so
    /// the caller must not hold a lock.
    void reap_rest() { reap(true); }

    /// Waits for space in the queue and takes the queue's lock, which the
    /// caller holds until publish(). Owns no lock if the session ended.
    std::unique_lock<std::mutex> await_free_entry();
    /// Prepares remember(). Throws std::bad_alloc.
    void reserve();
    /// The entry that gets this position.
    ring_entry& entry_of(std::uint64_t position) const;
    /// Keeps for reap() what is left to do for the next entry.
    void remember(const work_request& request);
    /// Publishes the next entry.
    void publish();
    /// Wakes waiting threads and waits for those that are submitting, after the
    /// lanes have ended.
    void end();

  private:
    /// Work to do in the application when an entry has completed.
    struct aftermath {
        std::uint64_t position;
        void* closure;
        hmmDestroyFunction_t destroy;
        std::shared_ptr<event_point> stamp;
    };

    bool has_free_entry();
    bool wait(std::uint64_t position, const session_lanes* waiting, bool tell);
    void reap(bool all);

    session_lanes* lanes_ = nullptr;
    failure_watch* watch_ = nullptr;
    work_queue* words_ = nullptr;
    std::mutex lock_; ///< held while submitting
    std::atomic<std::uint64_t> submitted_{0};
    std::mutex waiters_lock_;

    std::mutex aftermath_lock_;
    /// Sorted by position; the positions are less than ring_entries apart.
    /// Empty until the queue is first used.
    std::vector<aftermath, own_memory_allocator<aftermath>> aftermaths_;
    std::uint64_t aftermath_begin_ = 0;
    std::uint64_t aftermath_end_ = 0;
};

} // namespace hmmrt
