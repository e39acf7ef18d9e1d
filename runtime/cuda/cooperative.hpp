// SPDX-License-Identifier: MIT
/*
 * Cooperative launches: blocks wait for each other at grid barriers.
 *
 * A block that reaches such a barrier leaves its lane, and its state stays in
 * memory. A *phase* is the time between two barriers. Each item of the launch
 * is a worker, which takes one block of the phase after another. When all are
 * taken, it waits for those that other workers are running. The last worker to
 * finish a block opens the next phase. So a launch finishes even with few
 * lanes, and doesn't wait for lanes that other launches use.
 *
 * If a block fails, the device ends the waiting workers together with all other lanes.
 */
#pragma once

#include "launch_data.hpp"

namespace hmmcuda {

/// Size of the area for a cooperative launch.
std::size_t bytes_of_grid(const launch_data& launch, std::uint64_t blocks);

/// The function of a worker. There are as many workers as blocks.
void run_in_grid(const hmmThreadIndex* index, void* arguments);

} // namespace hmmcuda
