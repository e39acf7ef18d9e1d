// SPDX-License-Identifier: MIT
// The call graph.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>

namespace hmmcc {

using function_set = llvm::SmallPtrSet<llvm::Function*, 32>;

/// Adds the functions that use a value, directly or in constant expressions.
void add_users(llvm::Value& value, llvm::SmallVectorImpl<llvm::Function*>& found);
/// These functions and their transitive callers. Empties @open.
function_set with_callers(llvm::SmallVectorImpl<llvm::Function*>& open);

/// False if the function's address is taken: it may be called through a pointer.
bool is_called_only(const llvm::Function& function);
/// True if the function is recursive, directly or through functions of the set.
bool calls_itself(llvm::Function& function, const function_set& through);

} // namespace hmmcc
