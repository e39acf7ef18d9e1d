// SPDX-License-Identifier: MIT
// Passes over the device half and the host half of a file.
#pragma once

#include <llvm/IR/PassManager.h>

namespace hmmcc {

/// Has LLVM inline functions that use threadIdx, barriers or __shared__ variables into the kernels.
struct prepare_device_half : llvm::PassInfoMixin<prepare_device_half> {
    explicit prepare_device_half(bool optimizes) : optimizes_(optimizes) {}
    llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
    static bool isRequired() { return true; }

  private:
    bool optimizes_;
};

/// Turns kernels into functions that run one block, and describes them to the host half.
struct finish_device_half : llvm::PassInfoMixin<finish_device_half> {
    explicit finish_device_half(bool optimizes) : optimizes_(optimizes) {}
    llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
    static bool isRequired() { return true; }

  private:
    bool optimizes_;
};

/// Makes the host half refer to the kernels and variables of the device half.
struct connect_host_half : llvm::PassInfoMixin<connect_host_half> {
    llvm::PreservedAnalyses run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses);
    static bool isRequired() { return true; }
};

} // namespace hmmcc
