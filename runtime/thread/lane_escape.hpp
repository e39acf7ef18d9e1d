// SPDX-License-Identifier: MIT
/*
 * Leaving device code on the cpu device: when an instruction fails, when an exception leaves a
 * kernel, when the kernel calls exit(), when another lane has failed, and when the device is reset
 * or a launch takes too long.
 *
 * Signal handlers jump out of device code, like those of the agent. Except
 * after an exception, which has unwound the stack, everything the code held
 * stays held: destructors don't run, and locks stay locked, including malloc's.
 *
 * Failures of the program's own code go to its handlers, see
 * program_signals.hpp.
 *
 * Sanitizers report invalid accesses themselves and then end the program. With
 * them, we install no handlers for failures.
 */
#pragma once

#include "agent/control.h"

#include <csetjmp>
#include <csignal>

namespace hmmrt {

/// The position of a lane, for signal handlers on its thread.
struct lane_position {
    control* ctl = nullptr;
    /// `running` is set while the lane is in device code; handlers only leave
    /// it then
    lane_control* shared = nullptr;
    const std::atomic<bool>* quit = nullptr;
    std::uint32_t index = 0;
    /// the lane left device code because of a failure that it recorded
    bool failed = false;
    sigset_t mask = {}; ///< the thread's mask outside of device code
    sigjmp_buf escape;
    /// the handler is collecting the frames of a failure; if that fails, it
    /// jumps to walk_escape
    bool walking = false;
    sigjmp_buf walk_escape;
};

/// Makes @self the calling thread's lane; NULL for none.
void set_lane_position(lane_position* self);

/// Installs the handlers, once per process. Returns the signal that makes a
/// lane leave device code; 0 if no signal is free.
int install_lane_handlers();

/// Runs items [@begin, @end) of @work, with the floating point modes of the
/// launch. Returns false if a handler left the code. An uncaught exception ends
/// the launch like abort().
bool run_device_code(lane_position& self, const range_work& work, std::uint64_t begin,
                     std::uint64_t end);

/// These end the launch and don't return, unless the caller isn't in device
/// code of a lane of this process.
void leave_by_exception();
void leave_by_exit();

} // namespace hmmrt
