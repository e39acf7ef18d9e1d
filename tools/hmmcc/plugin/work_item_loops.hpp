// SPDX-License-Identifier: MIT
/*
 * Work-item loops: the loop of a state runs each thread of a group to its next
 * synchronization point, one row after the other. It splits a row where the region's
 * guards change, and into warps, and each piece has a loop of its own (row_loops).
 */
#pragma once

#include "group_variables.hpp"
#include "row_guards.hpp"
#include "row_loops.hpp"

namespace hmmcc {

class work_item_loops {
  public:
    work_item_loops(kernel_body& body, const group_variables& group)
        : body_(body), group_(group), rows_(body, group) {}

    /// Makes the loop of a state, which continues at @then. Returns its first basic block. @masked:
    /// it only runs threads that are marked as ready.
    llvm::BasicBlock* make(std::uint32_t state, bool masked, llvm::BasicBlock* then);

  private:
    struct work_item_loop;

    void begin_loop(work_item_loop& loop);
    void make_rows(work_item_loop& loop);
    void run_row(work_item_loop& loop, llvm::IRBuilder<>& row, const row_piece& all, llvm::Value* y,
                 llvm::Value* z);
    row_values values_of_row(const work_item_loop& loop, llvm::IRBuilder<>& row,
                             const row_piece& all, llvm::Value* y, llvm::Value* z) const;
    void run_pieces(work_item_loop& loop, llvm::IRBuilder<>& row, const row_piece& all,
                    const row_values& values, const row_guards& guards);
    void choose_loop(work_item_loop& loop, llvm::IRBuilder<>& builder, const row_piece& here,
                     llvm::BasicBlock* then, const row_guards& guards,
                     llvm::ArrayRef<unsigned> counting, llvm::Value* unusual);
    template <class Make>
    void if_full_warp(llvm::IRBuilder<>& builder, const row_piece& threads, llvm::Value* condition,
                      Make make);
    void end_loop(work_item_loop& loop, llvm::BasicBlock* then);

    kernel_body& body_;
    const group_variables& group_;
    row_loops rows_;
};

} // namespace hmmcc
