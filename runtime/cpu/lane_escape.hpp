// SPDX-License-Identifier: MIT
/*
 * Leaving device code of the cpu device: when an instruction fails, when an
 * exception leaves a kernel, when it calls exit(), when another lane has failed,
 * and when the device is reset or a launch takes too long.
 *
 * Except after an exception, which has unwound the stack, what the code held
 * stays held: destructors do not run, and locks stay locked, malloc's included.
 * Signal handlers jump out of device code, as those of the agent do.
 *
 * The program's own failures go to its handlers, see program_signals.hpp.
 *
 * Sanitizers report an invalid access themselves and then end the program.
 * Under them no handler for failures is installed.
 */
#pragma once

#include "agent/control.h"

#include <csetjmp>
#include <csignal>

namespace hmmrt {

/// The position of a lane, for signal handlers of its thread.
struct lane_position {
    control* ctl = nullptr;
    /// `running` is set while the lane is in device code; handlers leave it
    /// only then
    lane_control* shared = nullptr;
    const std::atomic<bool>* quit = nullptr;
    std::uint32_t index = 0;
    std::uint64_t function = 0; ///< of the launch
    std::uint64_t first_item = 0;
    std::uint64_t item_count = 0;
    /// the lane left device code because of a failure that it recorded
    bool failed = false;
    sigset_t mask = {}; ///< of the thread outside of device code
    sigjmp_buf escape;
    /// the handler collects the frames of a failure, and a failure of that
    /// jumps to walk_escape
    bool walking = false;
    sigjmp_buf walk_escape;
};

/// The functions below are for the calling thread, or for all.

/// Makes @self the calling thread's lane, NULL: none.
void set_lane_position(lane_position* self);

/// Installs the handlers, once for the process. Returns the signal that makes a
/// lane leave device code if it should stop; 0 if no signal is free.
int install_lane_handlers();

/// Calls fn(closure, begin, end) with these floating point modes; false if a
/// handler left it. What it throws ends the launch as abort() does.
bool run_device_code(lane_position& self, const range_work& work);

/// These end the launch and do not return. They return if the caller is not in
/// device code of a lane of this process.
void leave_by_exception();
void leave_by_exit();

} // namespace hmmrt
