// SPDX-License-Identifier: MIT
/*
 * The end of the program.
 *
 * If device code called exit(), the program's exit handlers and destructors
 * would run, and then the program would continue. exit() first destroys the
 * thread_local objects of its caller, and a lane has the thread_local objects
 * of its parked thread. So we put an object there whose destructor ends the
 * launch.
 */
#pragma once

namespace hmmrt {

/// Called by a parked thread, for its lane. From then on exit() and
/// quick_exit() in device code end the launch; quick_exit() does so before the
/// program's own handlers run.
void guard_exit_of_lane();

/// Call it before the first lane starts. Has no effect after the first call.
void prepare_exit_guard();

} // namespace hmmrt
