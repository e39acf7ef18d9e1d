// SPDX-License-Identifier: MIT
// What the threads of lanes run, as the program sees it after a failure.
#pragma once

namespace hmmcuda {

/// The calling lane does not run a kernel that names its threads. Lanes call this in front of each
/// block, because a failure leaves the name, and behind it.
void forget_thread() noexcept;

/// If the last failed call of this thread is about a kernel that names its threads, writes a line
/// with the kernel, the block and the thread that failed to standard error. Once for each failure.
void name_failed_thread();

} // namespace hmmcuda
