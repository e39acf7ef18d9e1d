// SPDX-License-Identifier: MIT
// __shared__ variables.
#pragma once

#include "kernel.hpp"

#include <llvm/IR/GlobalVariable.h>

namespace hmmcc {

/// Recognizes a __shared__ variable by its undefined initializer or open length.
bool is_shared_variable(const llvm::GlobalVariable& variable);
/// extern __shared__ T name[]
bool has_open_length(const llvm::GlobalVariable& variable);
/// Returns false after reporting an alignment that the block's memory doesn't have.
bool check_shared_alignment(const llvm::Instruction& where, llvm::Align alignment);

/// Replaces the kernel's __shared__ variables by addresses in the block's memory.
bool place_shared_variables(kernel_body& body, const separate_functions& separate);

/// Turns atomic operations on the block's memory into ordinary ones.
void lower_shared_atomics(kernel_body& body);

/// Turns constant expressions of this variable into instructions, before their users.
void expand_constants(llvm::GlobalVariable& variable);

} // namespace hmmcc
