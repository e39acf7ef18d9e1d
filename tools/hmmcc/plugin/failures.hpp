// SPDX-License-Identifier: MIT
// Assertions and traps: their messages name the block and the thread.
#pragma once

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Instructions.h>

namespace hmmcc {

/// __assert_fail(), and the intrinsic of a trap.
bool is_failure(const llvm::Function& function);

/// The block_run, and the number of the thread in its block.
struct thread_of_failure {
    llvm::Value* run;
    llvm::Value* rank;
};
/// Makes values in front of an instruction.
using find_thread = llvm::function_ref<thread_of_failure(llvm::Instruction& before)>;

/// Passes the thread to those that the function calls.
void name_threads_of_failures(llvm::Function& function, find_thread thread);

} // namespace hmmcc
