// SPDX-License-Identifier: MIT
/*
 * The inner work-item loop: runs threads of a row, one after the other, through a
 * copy of a region. It has metadata that lets LLVM vectorize it: between two
 * synchronization points, threads don't depend on each other.
 */
#pragma once

#include "group_variables.hpp"
#include "region_accesses.hpp"
#include "row_guards.hpp"

#include <llvm/Transforms/Utils/ValueMapper.h>

#include <set>

namespace hmmcc {

/// What the loops for a region have in common.
struct region_run {
    std::uint32_t state;           ///< in which threads enter the region
    bool masked;                   ///< runs only threads that are marked as ready
    std::set<std::uint32_t> exits; ///< the states in which threads leave it
    /// Those of body.uniform_variables, before the region.
    llvm::SmallVector<llvm::Value*, 8> uniform_values;
};

/// Threads of a row that a loop runs.
struct row_piece {
    llvm::Value *from, *to;         ///< threadIdx.x
    llvm::Value *rank, *group_rank; ///< of the first thread
    bool is_warp = false;           ///< all threads of a warp
};

/// The values of guards in a loop: 0, 1, or -1 for a guard that is not constant there. Empty: no
/// guard is constant.
using constant_guards = llvm::SmallVector<int, 8>;

class row_loops {
  public:
    row_loops(kernel_body& body, const group_variables& group)
        : body_(body), group_(group), accesses_(body) {}

    /// Makes a loop in which guards have the values @constants, between @before and @then. Returns
    /// its first basic block.
    llvm::BasicBlock* make(region_run& run, const row_piece& threads, llvm::BasicBlock* before,
                           llvm::BasicBlock* then, const row_guards& guards,
                           const constant_guards& constants, bool vectorized = true);

  private:
    struct row_loop;

    void enter_thread(const region_run& run, row_loop& loop, llvm::IRBuilder<>& builder,
                      llvm::Value* rank, llvm::BasicBlock* region);
    void leave_thread(row_loop& loop, llvm::Value* rank);
    llvm::BasicBlock* exit_to(region_run& run, row_loop& loop, std::uint32_t state);
    llvm::BasicBlock* clone_region(region_run& run, row_loop& loop, const row_guards& guards,
                                   const constant_guards& constants);

    kernel_body& body_;
    const group_variables& group_;
    region_accesses accesses_;
};

} // namespace hmmcc
