// SPDX-License-Identifier: MIT
// Common parts of the threads of lanes: parked threads, and the lanes of the
// cpu device.
#pragma once

#include <csignal>
#include <cstddef>
#include <string>

namespace hmmrt {

/// Size of the stack that lanes run on: HMMRT_STACK_SIZE, or that of the
/// program's threads; throws failure.
std::size_t lane_stack_bytes();
/// The message if a lane with a stack of this size cannot be started; @error may
/// be positive or negative.
std::string describe_start_error(std::size_t stack_bytes, int error);

/// True if the caller is a kernel that calls the runtime; detected by
/// thread-local storage.
bool calling_thread_is_lane();
void mark_thread_as_lane(bool lane);

/// Chooses a real-time signal that the program does not use and installs
/// @action for it. Returns 0 if no signal is free.
int install_free_signal(const struct sigaction& action);

} // namespace hmmrt
