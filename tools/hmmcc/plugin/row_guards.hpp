// SPDX-License-Identifier: MIT
/*
 * Guards: conditions that divide a row of threads. For example, `i < n` is true
 * for the first threads of a row and false for the others. We split the loop over
 * the row where a guard changes, and compile each piece with the guard as a
 * constant, so that vectorized code accesses memory without masks.
 */
#pragma once

#include "kernel.hpp"

#include <llvm/ADT/DenseMap.h>

#include <vector>

namespace hmmcc {

/// Values before the loop over a row. Varying ones are those of the row's first thread.
struct row_values {
    llvm::Value *x = nullptr, *rank = nullptr, *group_rank = nullptr;
    llvm::Value *y = nullptr, *z = nullptr;
    llvm::Value* length = nullptr; ///< of the row
    /// The values of body.uniform_variables.
    llvm::DenseMap<const llvm::AllocaInst*, llvm::Value*> uniform_variables;
};

struct row_guard {
    llvm::ICmpInst* compare = nullptr;
    bool usual = false;       ///< guess: the value for most threads
    bool counts = false;      ///< reached when the other guards have their usual value
    unsigned thread_side = 0; ///< the operand that varies along a row
    bool same_in_row = false;
};

/// Where a guard changes. Threads are counted from the first one of the row.
struct guard_place {
    llvm::Value *low = nullptr, *high = nullptr; ///< its value is @inside in [low, high)
    bool inside = false;
    llvm::Value* same = nullptr; ///< the value, if it is the same for the whole row

    /// The first change after thread @done and before @next, or @next if there is none.
    llvm::Value* next_change(llvm::IRBuilder<>& builder, llvm::Value* done,
                             llvm::Value* next) const;
    /// The guard's value for thread @done.
    llvm::Value* value_at(llvm::IRBuilder<>& builder, llvm::Value* done) const;
};

class row_guards {
  public:
    /// Finds the guards of @region, which begins at @start.
    row_guards(const kernel_body& body, const block_set& region, llvm::BasicBlock* start);

    const block_set& region() const { return region_; }
    const std::vector<row_guard>& all() const { return guards_; }
    /// Emits code that computes where the guards change.
    std::vector<guard_place> places(llvm::IRBuilder<>& builder, const row_values& row) const;

  private:
    struct placer;

    void find_those_that_count();
    int usual_truth(const llvm::Value& condition, int steps) const;

    const kernel_body& body_;
    const block_set& region_;
    llvm::BasicBlock* start_;
    std::vector<row_guard> guards_;
};

} // namespace hmmcc
