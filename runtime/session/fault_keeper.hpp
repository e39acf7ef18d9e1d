// SPDX-License-Identifier: MIT
/*
 * Keeps the fault that stopped a session's device: a copy of the lane's record,
 * because device code can write to the control block as long as the agent
 * lives, and the exception that left the kernel.
 */
#pragma once

#include "session/session_lanes.hpp"

#include <atomic>
#include <exception>
#include <mutex>

namespace hmmrt {

class fault_keeper {
  public:
    fault_keeper(session_lanes& lanes, const session_options& options)
        : lanes_(lanes), device_(options.device), quiet_(options.quiet) {}

    /// Returns the fault that stopped the device, or NULL. The fault never
    /// changes. An agent that doesn't finish recording its fault is killed;
    /// then the cause is unknown. Doesn't wait for the report, as
    /// failure_watch::fault() does.
    const fault_record* find();
    /// Fails the device, as if a lane had recorded this fault. Returns false if
    /// the device has already failed.
    bool set(const fault_record& fault);

    /// The exception that left the kernel, if that was the fault; otherwise
    /// empty.
    std::exception_ptr exception() const { return has_fault_.load() ? exception_ : nullptr; }
    /// Its type and text, "" if there is none.
    const char* exception_text() const { return exception_text_; }

    /// The program has seen the error of the failed device.
    void set_seen() { seen_.store(true); }
    bool is_seen() const { return seen_.load(); }

  private:
    void await_record();
    void keep();
    void end_for_sanitizer() const;

    session_lanes& lanes_;
    const int device_;
    const bool quiet_;
    std::atomic<bool> seen_{false};
    std::mutex lock_;
    std::atomic<bool> has_fault_{false};
    /// written once, under the lock, before has_fault_ is true
    fault_record fault_ = {};
    std::exception_ptr exception_; ///< protected like fault_
    char exception_text_[512] = "";
};

} // namespace hmmrt
