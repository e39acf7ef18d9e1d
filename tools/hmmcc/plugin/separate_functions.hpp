// SPDX-License-Identifier: MIT
/*
 * Functions that we cannot inline into the kernels that call them, because they are recursive,
 * called through a pointer, or marked as noinline.
 *
 * Each lane of the runtime has a current_thread. A kernel's thread stores its threadIdx there
 * before it calls such a function, which loads it from there. Their __shared__ variables have the
 * same offset in all kernels of the file.
 */
#pragma once

#include "callers.hpp"
#include "kernel.hpp"

#include <llvm/ADT/DenseMap.h>

namespace hmmcc {

class separate_functions {
  public:
    separate_functions(llvm::Module& module, const function_set& kernels);

    /// Makes them read the current_thread. Returns false after reporting an error.
    bool open();

    /// True if this call may run a separate function that reads the current_thread.
    bool may_run_in(const llvm::CallBase& call) const;

    /// True if this call may run a separate function with __shared__ variables.
    bool may_share_in(const llvm::CallBase& call) const;

    /// Size of their __shared__ variables, which begin at offset 0 of the block's memory.
    std::uint64_t shared_bytes() const { return shared_bytes_; }
    /// Identifies kernels that reserve these bytes. Kernels of other files have another mark, or no
    /// mark.
    llvm::Constant* shared_owner();
    /// The offset of a variable; NULL if no separate function uses it.
    const std::uint64_t* shared_offset(const llvm::GlobalVariable& variable) const;

  private:
    /// Functions of one kind, and functions that may call them.
    struct reached {
        llvm::SmallVector<llvm::Function*, 16> functions;
        function_set reaching; ///< with all direct and indirect callers
        bool by_pointer = false;
    };
    void find_callers(reached& of, const function_set& kernels);
    bool place_shared(llvm::GlobalVariable& variable);
    llvm::Value* shared_place(llvm::GlobalVariable& variable, llvm::Function& function);

    llvm::Module& module_;
    reached readers_; ///< functions that read the current_thread
    reached sharing_; ///< the readers that use __shared__ variables
    llvm::DenseMap<const llvm::GlobalVariable*, std::uint64_t> shared_;
    std::uint64_t shared_bytes_ = 0;
};

/// Emits code that stores the thread's threadIdx and number in the current_thread.
void leave_place(const kernel_body& body, llvm::IRBuilder<>& builder);
/// Emits code that gets the current_thread if separate functions or failure messages need it, and
/// makes threads update it before calls.
void enter_place(kernel_body& body, const separate_functions& separate);

} // namespace hmmcc
