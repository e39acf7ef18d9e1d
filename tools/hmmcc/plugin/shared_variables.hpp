// SPDX-License-Identifier: MIT
// Variables in the memory of a block.
#pragma once

#include "kernel.hpp"

#include <llvm/IR/GlobalVariable.h>

namespace hmmcc {

/// True for a __shared__ variable: clang leaves its value undefined, or its length open.
bool is_shared_variable(const llvm::GlobalVariable& variable);
/// extern __shared__ T name[]
bool has_open_length(const llvm::GlobalVariable& variable);
/// Reports an alignment that memory of blocks does not have, and returns false then.
bool check_shared_alignment(const llvm::Instruction& where, llvm::Align alignment);

/// Replaces the kernel's __shared__ variables by places in the memory of the block.
bool place_shared_variables(kernel_body& body, const separate_functions& separate);

/// Makes ordinary operations of atomic ones on memory of the block.
void lower_shared_atomics(kernel_body& body);

/// Turns constant expressions of this value into instructions, in front of their users.
void expand_constants(llvm::GlobalVariable& variable);

} // namespace hmmcc
