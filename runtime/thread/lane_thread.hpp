// SPDX-License-Identifier: MIT
// Shared by the two kinds of lane threads: parked threads, and lanes of the cpu
// device.
#pragma once

#include <csignal>
#include <cstddef>
#include <string>

namespace hmmrt {

/// Size of a lane's stack: HMMRT_STACK_SIZE, or that of the program's threads.
/// Throws failure.
std::size_t lane_stack_bytes();
/// The message for a lane that can't be started with a stack of this size;
/// @error may be positive or negative.
std::string describe_start_error(std::size_t stack_bytes, int error);

/// True if the caller is a kernel that calls the runtime. Uses thread-local
/// storage.
bool calling_thread_is_lane();
void mark_thread_as_lane(bool lane);

/// Chooses a real-time signal that the program doesn't use, and installs
/// @action for it. Returns 0 if no signal is free.
int install_free_signal(const struct sigaction& action);

} // namespace hmmrt
