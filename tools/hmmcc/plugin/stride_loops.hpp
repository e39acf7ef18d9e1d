// SPDX-License-Identifier: MIT
// Grid-stride and block-stride loops, in which threads take elements in turn.
#pragma once

#include "kernel.hpp"

#include <llvm/Analysis/LoopInfo.h>

namespace hmmcc {

/// True if the loop has a variable that starts at the thread's own element and a uniform step.
bool is_stride_loop(const kernel_body& body, const llvm::Loop& loop);

/// Changes such a loop, if possible, so that all threads leave it in the same iteration: threads
/// without more elements run the last iterations without effect.
void end_together(kernel_body& body, const llvm::Loop& loop);

} // namespace hmmcc
