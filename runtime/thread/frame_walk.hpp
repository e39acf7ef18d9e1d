// SPDX-License-Identifier: MIT
/*
 * Walks the frames of device code that a fault interrupted.
 *
 * A lane unwinds its own stack, so that a damaged stack only stops the walk,
 * not the program.
 */
#pragma once

#include "agent/control.h"

namespace hmmrt {

/// The function for control::walker. Adds the frames to the record of the
/// fault. Runs on a lane, and uses neither system calls nor the heap.
void walk_frames(fault_record* fault, const code_state* state);

} // namespace hmmrt
