// SPDX-License-Identifier: MIT
/*
 * Functions that cannot be a part of the kernels that call them: they call themselves, are called
 * through a pointer, or must not be inlined.
 *
 * A lane has a lane_place. There a thread of a kernel leaves its threadIdx before it calls such a
 * function, which reads it there. Their __shared__ variables have the same place in all kernels of
 * the file.
 */
#pragma once

#include "callers.hpp"
#include "kernel.hpp"

#include <llvm/ADT/DenseMap.h>

namespace hmmcc {

class separate_functions {
  public:
    /// Finds them. Kernels are no separate functions.
    separate_functions(llvm::Module& module, const function_set& kernels);

    /// Makes them read the lane_place. False: an error was reported.
    bool open();

    /// True if a separate function that reads the lane_place may run in this call.
    bool may_run_in(const llvm::CallBase& call) const;

    /// True if one with __shared__ variables may run in it.
    bool may_share_in(const llvm::CallBase& call) const;

    /// Bytes of their __shared__ variables, from the start of the block's memory.
    std::uint64_t shared_bytes() const { return shared_bytes_; }
    /// Marks the kernels that reserve these bytes. Kernels of other files have another mark, or
    /// none.
    llvm::Constant* shared_owner();
    /// The place of a variable; NULL if no separate function uses it.
    const std::uint64_t* shared_offset(const llvm::GlobalVariable& variable) const;

  private:
    /// Functions of one kind, and what may run them.
    struct reached {
        llvm::SmallVector<llvm::Function*, 16> functions;
        function_set reaching; ///< these, and functions that may call them
        bool by_pointer = false;
    };
    void find_callers(reached& of, const function_set& kernels);
    bool place_shared(llvm::GlobalVariable& variable);
    llvm::Value* shared_place(llvm::GlobalVariable& variable, llvm::Function& function);

    llvm::Module& module_;
    reached readers_; ///< functions that read the lane_place
    reached sharing_; ///< those of them that have __shared__ variables
    llvm::DenseMap<const llvm::GlobalVariable*, std::uint64_t> shared_;
    std::uint64_t shared_bytes_ = 0;
};

/// The thread leaves its threadIdx in the lane_place.
void leave_place(const kernel_body& body, llvm::IRBuilder<>& builder);
/// Begins with the lane_place, if separate functions or messages about failures need it, and makes
/// threads leave theirs in front of calls.
void enter_place(kernel_body& body, const separate_functions& separate);

} // namespace hmmcc
