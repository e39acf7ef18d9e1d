// SPDX-License-Identifier: MIT
// Accesses that don't depend on other threads' accesses between two synchronization points.
#pragma once

#include "kernel.hpp"

namespace hmmcc {

class region_accesses {
  public:
    explicit region_accesses(const kernel_body& body) : body_(body) {}

    /// Puts a basic block's independent accesses into @group, for LLVM's vectorizer.
    void mark(llvm::BasicBlock& block, llvm::MDNode& group);

  private:
    bool may_use_variable(const llvm::Instruction& instruction);
    bool has_escaping_variables();

    const kernel_body& body_;
    int escaping_ = -1; ///< -1: not computed yet
};

/// Describes the work-item loop that ends with this branch to LLVM. @independent: the group of its
/// accesses that don't depend on other threads, or NULL.
void describe_work_item_loop(llvm::Instruction& branch, llvm::MDNode* independent);

} // namespace hmmcc
