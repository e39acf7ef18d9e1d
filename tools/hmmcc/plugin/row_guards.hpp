// SPDX-License-Identifier: MIT
/*
 * Conditions that divide a row of threads: `i < n` is true for the first threads
 * of a row and false for the others. The loop over the row is split where such a
 * condition changes, and each piece gets code in which it is a constant. There,
 * memory is accessed without masks.
 */
#pragma once

#include "kernel.hpp"

#include <llvm/ADT/DenseMap.h>

#include <vector>

namespace hmmcc {

/// Values in front of the loop over a row, of the first thread where threads differ.
struct row_values {
    llvm::Value *x = nullptr, *rank = nullptr, *lane = nullptr;
    llvm::Value *y = nullptr, *z = nullptr;
    llvm::Value* length = nullptr;                                  ///< of the row
    llvm::DenseMap<const llvm::AllocaInst*, llvm::Value*> of_group; ///< those of body.of_group
};

struct row_guard {
    llvm::ICmpInst* compare = nullptr;
    bool usual = false;       ///< what it is for most threads, to judge by its form
    bool counts = false;      ///< threads come to it if the others are as usual
    unsigned thread_side = 0; ///< the operand that differs in a row
    bool same_in_row = false;
};

/// Where a guard changes, counted from the first thread of the row.
struct guard_place {
    llvm::Value *low = nullptr, *high = nullptr; ///< threads from @low to @high have @inside
    bool inside = false;
    llvm::Value* same = nullptr; ///< of a guard that is the same in the row: its value

    /// Where it changes behind the thread @done, if that is in front of @next; else @next.
    llvm::Value* next_change(llvm::IRBuilder<>& builder, llvm::Value* done,
                             llvm::Value* next) const;
    /// What the guard is for the thread @done.
    llvm::Value* value_at(llvm::IRBuilder<>& builder, llvm::Value* done) const;
};

class row_guards {
  public:
    /// Finds those of a part of the kernel, which begins with @start.
    row_guards(const kernel_body& body, const block_set& part, llvm::BasicBlock* start);

    const block_set& part() const { return part_; }
    const std::vector<row_guard>& all() const { return guards_; }
    /// Computes where they change.
    std::vector<guard_place> places(llvm::IRBuilder<>& builder, const row_values& row) const;

  private:
    struct placer;

    void find_those_that_count();
    int usual_truth(const llvm::Value& condition, int steps) const;

    const kernel_body& body_;
    const block_set& part_;
    llvm::BasicBlock* start_;
    std::vector<row_guard> guards_;
};

} // namespace hmmcc
