// SPDX-License-Identifier: MIT
// Variables that the work-item loops and the control flow between them share.
#pragma once

#include "kernel.hpp"

#include <llvm/ADT/STLExtras.h>

#include <array>

namespace hmmcc {

/// Variables of the group that is running. They are in the function's entry.
struct group_variables {
    llvm::AllocaInst *first = nullptr, *end = nullptr; ///< the threads' numbers in the block
    std::array<llvm::AllocaInst*, 3> first_index{};    ///< threadIdx of the first thread of a warp
    llvm::AllocaInst* current = nullptr;               ///< the state of the group
    llvm::AllocaInst* next = nullptr;                  ///< the state in which a thread stopped
    /// Disjunction and conjunction of the states in which threads of the group stopped.
    llvm::AllocaInst *any = nullptr, *all = nullptr;
    llvm::Value* thread_states = nullptr; ///< an array; NULL if there are no synchronization points
    /// Copies of body.uniform_variables from threads that don't end; empty if threads can't
    /// diverge.
    llvm::SmallVector<llvm::AllocaInst*, 8> left;
};

inline llvm::BasicBlock* new_basic_block(const kernel_body& body, const llvm::Twine& name) {
    return llvm::BasicBlock::Create(body.function->getContext(), name, body.function);
}
inline llvm::AllocaInst* new_variable(llvm::IRBuilder<>& builder, const char* name) {
    return builder.CreateAlloca(builder.getInt32Ty(), nullptr, name);
}
inline llvm::Value* load_number(llvm::IRBuilder<>& builder, llvm::Value* place) {
    return builder.CreateLoad(builder.getInt32Ty(), place);
}

/// Copies as many values as both lists have: group_variables::left may be empty.
inline void copy_values(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::AllocaInst*> from,
                        llvm::ArrayRef<llvm::AllocaInst*> to) {
    for (const auto& [source, target] : llvm::zip(from, to))
        builder.CreateStore(builder.CreateLoad(source->getAllocatedType(), source), target);
}

} // namespace hmmcc
