// SPDX-License-Identifier: MIT
// Variables in the memory of a block.
#pragma once

#include "kernel.hpp"

#include <llvm/IR/GlobalVariable.h>

namespace hmmcc {

/// True for a __shared__ variable: clang leaves its value undefined, or its length open.
bool is_shared_variable(const llvm::GlobalVariable& variable);

/// Replaces the kernel's __shared__ variables by places in the memory of the block.
bool place_shared_variables(kernel_body& body);

/// Makes ordinary operations of atomic ones on memory of the block.
void lower_shared_atomics(kernel_body& body);

/// Turns constant expressions of this value into instructions, in front of their users.
void expand_constants(llvm::GlobalVariable& variable);

} // namespace hmmcc
