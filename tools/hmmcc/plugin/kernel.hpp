// SPDX-License-Identifier: MIT
/*
 * A kernel while the passes work on it.
 *
 * The passes turn a kernel into a function that runs one block: they split it at its barriers and
 * put loops over the threads around the pieces, as POCL does for OpenCL. Our terms:
 *
 * synchronization point  a barrier or warp operation, or a point that we insert ourselves to keep
 *                        threads in lockstep. The kernel is split there.
 * region           parallel region: the code that a thread can run from one synchronization point,
 *                  or from the start, until it reaches the next one. Regions may share basic
 * blocks. work-item loop   runs a region for each thread of a group group            threads that a
 * work-item loop runs: the block, or a warp if the kernel has warp operations rank number of a
 * thread in its block; group rank: in its group row              neighbouring threads of a group
 * with the same threadIdx.y and threadIdx.z. The inner work-item loop runs over a row, and is the
 * one that LLVM vectorizes. state            where a thread continues: 0 if it has ended, 1 at the
 * start, else the number of its synchronization point plus 2 uniform          the same for all
 * threads of a group; other values are varying context array    an array with an element for each
 * thread, for a varying value that lives across a synchronization point lockstep         threads
 * run side by side through a loop, but don't wait for each other stride loop      a loop in which a
 * thread handles each n-th element divergent        not all threads of the group take this path
 * guard            a condition that is the same in a row, or changes along it: there we split the
 *                  row
 * phase            all groups run until each is at a barrier of the block or grid, or has ended
 * block            of threads, as in CUDA; LLVM's are basic blocks
 * lane             a thread of the runtime that runs blocks
 */
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

/// A synchronization point. Its basic block is empty; threads continue at @behind.
struct sync_point {
    hmmcuda::sync_kind kind = hmmcuda::sync_kind::start;
    llvm::BasicBlock* block = nullptr;
    llvm::BasicBlock* behind = nullptr;
    std::string file;
    std::uint32_t line = 0;
};

using block_set = llvm::SetVector<llvm::BasicBlock*>;

/// A PHI has one value for each predecessor, even if several edges come from it.
using values_of_phis = std::map<std::pair<llvm::PHINode*, llvm::BasicBlock*>, llvm::Value*>;

/// A kernel on its way to a function that runs one block.
struct kernel_body {
    llvm::Function* function = nullptr; ///< runs a block
    llvm::BasicBlock* entry = nullptr;  ///< runs once per call; its values are uniform
    llvm::BasicBlock* start = nullptr;  ///< where each thread begins
    llvm::Value* run = nullptr;         ///< the block_run
    llvm::Value* place = nullptr;       ///< the current_thread; NULL if nothing needs it

    std::array<llvm::Value*, 3> block_index{}, block_size{}, grid_size{};
    llvm::Value* threads = nullptr;
    llvm::Value* cooperative = nullptr;
    llvm::Value* shared = nullptr;
    /// Variables of the work-item loop: threadIdx, and the thread's number in its block and group.
    std::array<llvm::AllocaInst*, 3> thread_index{};
    llvm::AllocaInst* rank = nullptr;
    llvm::AllocaInst* group_rank = nullptr;
    /// How many threads passed a true condition to a barrier: so far, and at the last barrier.
    llvm::AllocaInst* count = nullptr;
    llvm::AllocaInst* last_count = nullptr;
    /// Where threads of a warp store values for shuffles, and load those of other threads.
    llvm::AllocaInst* given_place = nullptr;
    llvm::AllocaInst* taken_place = nullptr;
    /// Uniform copies of parameters that are passed in memory. Threads don't change them.
    llvm::SmallVector<llvm::AllocaInst*, 4> parameters;

    std::vector<sync_point> sync_points;           ///< index: state - 2
    llvm::DenseSet<llvm::BasicBlock*> sync_blocks; ///< their basic blocks
    bool warps = false;                            ///< groups are warps
    bool optimizes = true;      ///< false: at -O0 and -G, where we skip optimizations
    bool grid_barriers = false; ///< the function returns there, and is called again
    /// Reserves memory for __shared__ variables of separate functions.
    bool shares_with_separate = false;
    /// Values that live across a synchronization point: varying ones, and uniform ones.
    llvm::SmallVector<llvm::AllocaInst*, 16> context_variables, uniform_variables;
    bool can_mix = false; ///< threads of a group can diverge: their states may differ

    std::uint32_t static_shared = 0;
    std::uint32_t thread_bytes = 0;
    std::uint32_t array_count = 0;

    std::uint32_t states() const { return static_cast<std::uint32_t>(sync_points.size()) + 2; }
    bool is_loop_variable(const llvm::Value* value) const {
        return value == rank || value == group_rank || value == thread_index[0] ||
               value == thread_index[1] || value == thread_index[2];
    }
};

/// The region that begins at @from: basic blocks that a thread can reach without passing a
/// synchronization point or @without.
block_set region_from(const kernel_body& body, llvm::BasicBlock* from,
                      const llvm::BasicBlock* without = nullptr);
/// Where a thread with this state continues.
llvm::BasicBlock* start_of(const kernel_body& body, std::uint32_t state);

/// Makes the block's function from a kernel. Returns false after reporting what is unsupported.
bool open_kernel(const source_kernel& kernel, kernel_body& body,
                 const separate_functions& separate);
/// Unrolls loops that have synchronization points and few iterations.
void unroll_short_loops(kernel_body& body);
/// Adds synchronization points to loops that threads should run in lockstep.
void lockstep_loops(kernel_body& body);
/// Splits the kernel at its synchronization points, and saves values that live across them.
void split_kernel(kernel_body& body);
/// Puts work-item loops around the regions.
void close_kernel(kernel_body& body);

/// Reports an error at an instruction's source location.
void report_error(const llvm::Instruction& where, const llvm::Twine& text);

} // namespace hmmcc
