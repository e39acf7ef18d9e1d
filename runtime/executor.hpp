// SPDX-License-Identifier: MIT
/*
 * Runs the lanes of a session: in the agent, or as threads of this process.
 *
 * The session writes work to the control block, and the lanes take it from
 * there (agent/ring.h). An executor owns the control block and the lanes, and
 * nothing else: it knows no streams, positions or closures.
 *
 * Life: the constructor returns when the lanes take work, and throws failure if
 * they cannot. stop() ends device code. release() follows when no thread of the
 * session uses the lanes any more. The control block stays mapped until the
 * destructor.
 */
#pragma once

#include "agent/control.h"
#include "own_memory.hpp"

namespace hmmrt {

class executor : public in_own_memory {
  public:
    executor() = default;
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;
    virtual ~executor() = default;

    virtual control& shared() = 0;
    virtual std::uint32_t lanes() const = 0;
    /// True if the lanes ended although stop() was not called, or do not end
    /// although kill() was called.
    virtual bool lost() = 0;
    /// Makes the lanes end, and does not wait for them.
    virtual void kill() = 0;
    /// Makes the lanes end, and waits until they run no device code.
    virtual void stop() = 0;
    /// Returns what belongs to the lanes, except for the control block.
    virtual void release() = 0;
};

} // namespace hmmrt
