// SPDX-License-Identifier: MIT
// A kernel while the passes work on it.
#pragma once

#include "cuda/device_code.hpp"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hmmcc {

class separate_functions;

struct source_parameter {
    std::uint32_t offset = 0; ///< in the copy of the arguments
    std::uint32_t size = 0;
    std::uint32_t alignment = 1;
    bool pointer = false;
};

struct source_kernel {
    llvm::Function* function = nullptr;
    std::vector<source_parameter> parameters;
    std::uint32_t argument_bytes = 0;
};

/// A place where threads wait for each other. The block is empty; threads go on behind it.
struct cut_place {
    hmmcuda::cut_kind kind = hmmcuda::cut_kind::start;
    llvm::BasicBlock* block = nullptr;
    llvm::BasicBlock* behind = nullptr;
    std::string file;
    std::uint32_t line = 0;
};

using block_set = llvm::SetVector<llvm::BasicBlock*>;

/// A PHI takes one value from a block, also if several edges lead from there.
using values_of_phis = std::map<std::pair<llvm::PHINode*, llvm::BasicBlock*>, llvm::Value*>;

/// A kernel that becomes a function of a block.
struct kernel_body {
    llvm::Function* function = nullptr; ///< of the block
    llvm::BasicBlock* entry = nullptr;  ///< runs once; its values are those of all threads
    llvm::BasicBlock* start = nullptr;  ///< where each thread starts
    llvm::Value* run = nullptr;         ///< the block_run
    llvm::Value* place = nullptr;       ///< the lane_place; NULL if nothing needs it

    std::array<llvm::Value*, 3> block_index{}, block_size{}, grid_size{};
    llvm::Value* threads = nullptr;
    llvm::Value* cooperative = nullptr;
    llvm::Value* shared = nullptr;
    /// Variables of the loop over threads: threadIdx, and the thread's number in its block and
    /// warp.
    std::array<llvm::AllocaInst*, 3> thread_index{};
    llvm::AllocaInst* rank = nullptr;
    llvm::AllocaInst* lane = nullptr;
    /// Of the condition that a barrier counts: until now, and at the last barrier.
    llvm::AllocaInst* count = nullptr;
    llvm::AllocaInst* last_count = nullptr;
    /// Where threads of a warp give values to others, and take theirs.
    llvm::AllocaInst* given_place = nullptr;
    llvm::AllocaInst* taken_place = nullptr;
    /// Parameters that are in memory and do not change.
    llvm::SmallVector<llvm::AllocaInst*, 4> parameters;

    std::vector<cut_place> cuts;                  ///< by state - 2
    llvm::DenseSet<llvm::BasicBlock*> cut_blocks; ///< their blocks
    bool warps = false;                           ///< groups are warps
    bool optimizes = true;                        ///< false: leaves out what is for speed
    bool grid_barriers = false;                   ///< the function returns in the middle
    /// It has memory for __shared__ variables of separate functions.
    bool shares_with_separate = false;
    /// Values that live across a cut: those of each thread, and those of a group.
    llvm::SmallVector<llvm::AllocaInst*, 16> of_thread, of_group;
    bool can_mix = false; ///< threads of a group can be at different cuts

    std::uint32_t static_shared = 0;
    std::uint32_t thread_bytes = 0;
    std::uint32_t array_count = 0;

    std::uint32_t states() const { return static_cast<std::uint32_t>(cuts.size()) + 2; }
    bool is_loop_variable(const llvm::Value* value) const {
        return value == rank || value == lane || value == thread_index[0] ||
               value == thread_index[1] || value == thread_index[2];
    }
};

/// Blocks that a thread can run from @from before it comes to a cut, without @without.
block_set region_from(const kernel_body& body, llvm::BasicBlock* from,
                      const llvm::BasicBlock* without = nullptr);
/// Where a thread with this state goes on.
llvm::BasicBlock* start_of(const kernel_body& body, std::uint32_t state);

/// Makes the function of a block from a kernel. Reports what it cannot do, and returns false then.
bool open_kernel(const source_kernel& kernel, kernel_body& body,
                 const separate_functions& separate);
/// Unrolls loops of a few rounds with cuts.
void unroll_short_loops(kernel_body& body);
/// Cuts loops that threads have to go through side by side.
void pace_loops(kernel_body& body);
/// Splits the kernel at its cuts, and keeps what lives across them.
void cut_kernel(kernel_body& body);
/// Puts loops over the threads around the parts.
void close_kernel(kernel_body& body);

/// Reports an error at the place of an instruction.
void report_error(const llvm::Instruction& where, const llvm::Twine& text);

} // namespace hmmcc
