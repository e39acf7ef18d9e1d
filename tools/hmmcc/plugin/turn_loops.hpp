// SPDX-License-Identifier: MIT
// Loops in which threads take elements in turn.
#pragma once

#include "kernel.hpp"

#include <llvm/Analysis/LoopInfo.h>

namespace hmmcc {

/// True if a variable of the loop starts at the thread's own element and grows by what is the same
/// for all.
bool takes_turns(const kernel_body& body, const llvm::Loop& loop);

/// Changes a loop that takes turns so that all threads leave it in the same round, if it can:
/// threads that have no more elements go through the last rounds without doing anything.
void end_together(kernel_body& body, const llvm::Loop& loop);

} // namespace hmmcc
