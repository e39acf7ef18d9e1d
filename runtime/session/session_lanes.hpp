// SPDX-License-Identifier: MIT
/*
 * The lanes of a session, from their start to their end. They end by stop(), or
 * are lost, which lost() finds out.
 */
#pragma once

#include "fault/report.hpp"
#include "machine/executor.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

namespace hmmrt {

struct session_options {
    int device = 0;
    bool quiet = false; ///< writes nothing to standard error
    /// time limit of a launch in milliseconds; 0 if there is no limit
    std::uint64_t launch_limit = 0;
};

class session_lanes {
  public:
    explicit session_lanes(std::unique_ptr<executor> lanes);

    control& shared() const { return ctl_; }
    std::uint32_t count() const { return executor_->lanes(); }

    /// Checks whether the lanes have ended. The watch reports a loss, so call
    /// failure_watch::lost() instead if the program is to know of it.
    bool lost();
    /// True if lost() has found that the agent ended on its own.
    bool is_lost() const { return lost_.load(); }
    bool ended() const { return ended_.load(); }
    /// True if the lanes start no more work: they ended, or their device has a
    /// fault.
    bool over() const { return ended_.load() || ctl_.sticky.load() != 0; }

    bool has_running() const;
    void get_running(running_lanes& out) const;

    void kill() { executor_->kill(); }
    /// Ends the lanes, and waits until they no longer run device code.
    void stop();
    /// Releases the resources of the lanes, except for the control block.
    void release() { executor_->release(); }

    /// Returns control::memory_error and clears it; 0 if none.
    std::uint64_t take_memory_error() { return ctl_.memory_error.exchange(0); }
    void set_strict(bool strict) { ctl_.strict.store(strict ? 1 : 0); }

  private:
    const std::unique_ptr<executor> executor_;
    control& ctl_; ///< the executor's
    std::atomic<bool> ended_{false};
    std::atomic<bool> lost_{false};
    std::atomic<bool> stopping_{false}; ///< stop() is ending the lanes, so they aren't lost
    // when the session started
    const std::uint64_t first_ticks_;
    const std::uint64_t first_milliseconds_;
};

} // namespace hmmrt
