// SPDX-License-Identifier: MIT
// Context arrays: arrays in the block's memory with an element for each thread.
#pragma once

#include "kernel.hpp"

namespace hmmcc {

class context_arrays {
  public:
    explicit context_arrays(kernel_body& body) : body_(body) {}

    /// Allocates an array with an element of @bytes for each thread.
    llvm::Value* take(llvm::IRBuilder<>& entry, std::uint64_t bytes);
    /// Replaces body.context_variables by elements of context arrays.
    void replace_variables(llvm::IRBuilder<>& entry);

  private:
    void replace_by_elements(llvm::AllocaInst& variable, llvm::Value* array, std::uint64_t bytes);
    llvm::Value* element_of_thread(llvm::Instruction& before, llvm::Value* array,
                                   std::uint64_t bytes);

    kernel_body& body_;
    llvm::Value* free_ = nullptr; ///< next free byte; NULL: nothing is allocated yet
};

} // namespace hmmcc
