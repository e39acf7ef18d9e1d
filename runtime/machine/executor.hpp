// SPDX-License-Identifier: MIT
/*
 * Runs the lanes of a session: in an agent, or as threads of this process.
 *
 * The session writes work to the control block, from where the lanes take it
 * (agent/ring.h). An executor owns only the control block and the lanes. It
 * knows nothing about streams, positions or closures.
 *
 * Lifetime: the constructor returns once the lanes accept work, and throws
 * failure if they can't. stop() ends device code. Call release() after it, once
 * no thread of the session uses the lanes. The control block stays mapped until
 * the destructor runs.
 */
#pragma once

#include "agent/control.h"
#include "base/own_memory.hpp"

namespace hmmrt {

class executor : public in_own_memory {
  public:
    executor() = default;
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;
    virtual ~executor() = default;

    virtual control& shared() = 0;
    virtual std::uint32_t lanes() const = 0;
    /// True if the lanes ended without stop(), or keep running after kill().
    virtual bool lost() = 0;
    /// Tells the lanes to end, without waiting for them.
    virtual void kill() = 0;
    /// Ends the lanes, and waits until they no longer run device code.
    virtual void stop() = 0;
    /// Releases the resources of the lanes, except for the control block.
    virtual void release() = 0;
};

} // namespace hmmrt
