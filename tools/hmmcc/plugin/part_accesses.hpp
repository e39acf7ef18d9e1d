// SPDX-License-Identifier: MIT
// Accesses of a thread that do not depend on those of other threads, between two cuts.
#pragma once

#include "kernel.hpp"

namespace hmmcc {

class part_accesses {
  public:
    explicit part_accesses(const kernel_body& body) : body_(body) {}

    /// Marks those of a block, for LLVM's vectorizer.
    void mark(llvm::BasicBlock& block, llvm::MDNode& group);

  private:
    bool may_use_variable(const llvm::Instruction& instruction);
    bool has_escaping_variables();

    const kernel_body& body_;
    int escaping_ = -1; ///< -1: not known
};

/// Tells LLVM about the loop that ends with this branch. @independent: the group of its accesses
/// that do not depend on other threads; NULL if there is none.
void describe_loop_over_threads(llvm::Instruction& branch, llvm::MDNode* independent);

} // namespace hmmcc
