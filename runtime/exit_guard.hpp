// SPDX-License-Identifier: MIT
/*
 * The end of the program.
 *
 * exit() in device code would run the program's exit handlers and destructors,
 * and then the program would continue. The first thing that exit() does is to
 * destroy the thread_local objects of the caller, and a lane has those of its
 * parked thread. So an object there ends the launch.
 */
#pragma once

namespace hmmrt {

/// Called by a parked thread, for its lane: exit() and quick_exit() of device
/// code end the launch, the latter before the handlers that the program has
/// registered.
void guard_exit_of_lane();

/// For the process, once, before the first lane: an exit of the program notes
/// failures at which it has not looked.
void guard_exit_of_process();

} // namespace hmmrt
