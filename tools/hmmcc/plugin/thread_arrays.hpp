// SPDX-License-Identifier: MIT
// Arrays in the memory of a block, with an element for each thread.
#pragma once

#include "kernel.hpp"

namespace hmmcc {

class thread_arrays {
  public:
    explicit thread_arrays(kernel_body& body) : body_(body) {}

    /// Memory for an element of @bytes for each thread.
    llvm::Value* take(llvm::IRBuilder<>& entry, std::uint64_t bytes);
    /// Replaces variables of threads by the elements of arrays.
    void replace_variables(llvm::IRBuilder<>& entry);

  private:
    void replace_by_elements(llvm::AllocaInst& variable, llvm::Value* array, std::uint64_t bytes);
    llvm::Value* element_of_thread(llvm::Instruction& before, llvm::AllocaInst& variable,
                                   llvm::Value* array, std::uint64_t bytes);

    kernel_body& body_;
    llvm::Value* free_ = nullptr; ///< the rest of the memory; NULL: none is taken
};

} // namespace hmmcc
