// SPDX-License-Identifier: MIT
// Assertions and traps, whose messages name the block and the thread.
#pragma once

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Instructions.h>

namespace hmmcc {

/// True for __assert_fail() and llvm.trap.
bool is_failure(const llvm::Function& function);

/// The block_run, and the number of the thread in its block.
struct thread_of_failure {
    llvm::Value* run;
    llvm::Value* rank;
};
/// Emits code that finds the thread, before an instruction.
using find_thread = llvm::function_ref<thread_of_failure(llvm::Instruction& before)>;

/// Reports failures in this function through the runtime, which gets the thread.
void name_threads_of_failures(llvm::Function& function, find_thread thread);

} // namespace hmmcc
