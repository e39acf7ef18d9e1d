// SPDX-License-Identifier: MIT
/*
 * Cooperative launches: blocks wait for all others at barriers of the grid.
 *
 * A block that comes to such a barrier leaves its lane, and its state stays in
 * memory. Between two barriers is a *phase*. Each item of the launch is a
 * worker, which takes blocks of the phase one after the other. When all are
 * taken, it waits for those that other workers are running; the last of these
 * opens the next phase. So a launch comes to its end however few lanes it gets,
 * and no launch waits for a lane that another one has.
 *
 * If a block fails, the device ends the workers that wait, as it ends all lanes.
 */
#pragma once

#include "launch_data.hpp"

namespace hmmcuda {

/// Memory of a cooperative launch, as one area.
std::size_t bytes_of_grid(const launch_data& launch, std::uint64_t blocks);

/// One of as many workers as there are blocks.
void run_in_grid(const hmmThreadIndex* index, void* arguments);

} // namespace hmmcuda
