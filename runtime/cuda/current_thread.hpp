// SPDX-License-Identifier: MIT
// Tracks which device threads the lanes run, so that the program can name them
// after a failure.
#pragma once

namespace hmmcuda {

/// The calling lane isn't running a kernel that names its threads. Lanes call this before each
/// block, because a failure leaves the name behind, and after it.
void forget_thread() noexcept;

/// If the last failed call of this thread is about a kernel that names its threads, prints the
/// kernel, the block and the failed thread to standard error, once per failure.
void name_failed_thread();

} // namespace hmmcuda
