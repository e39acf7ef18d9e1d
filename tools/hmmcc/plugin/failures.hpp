// SPDX-License-Identifier: MIT
// Assertions and traps: their messages name the block and the thread.
#pragma once

#include "kernel.hpp"

namespace hmmcc {

/// __assert_fail(), and the intrinsic of a trap.
bool is_failure(const llvm::Function& function);
/// Passes the thread to those that the kernel calls.
void name_threads_of_failures(kernel_body& body);

} // namespace hmmcc
