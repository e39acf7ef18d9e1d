// SPDX-License-Identifier: MIT
/*
 * The frames of device code that a fault interrupted.
 *
 * A lane unwinds its stack itself: a stack that is damaged then stops the walk
 * and not the program.
 */
#pragma once

#include "agent/control.h"

namespace hmmrt {

/// control::walker. Adds the frames to the record of the fault. Runs on a lane,
/// makes no system calls and does not use the heap.
void walk_frames(fault_block* fault, const code_state* state);

} // namespace hmmrt
