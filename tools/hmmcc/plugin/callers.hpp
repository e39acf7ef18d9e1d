// SPDX-License-Identifier: MIT
// Which functions call which.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Function.h>

namespace hmmcc {

using function_set = llvm::SmallPtrSet<llvm::Function*, 32>;

/// Adds the functions that use a value, also in constant expressions.
void add_users(llvm::Value& value, llvm::SmallVectorImpl<llvm::Function*>& found);
/// These functions, their callers, and so on. Takes all of @open.
function_set with_callers(llvm::SmallVectorImpl<llvm::Function*>& open);

/// False for a function that is called through a pointer, or that something knows the address of.
bool is_called_only(const llvm::Function& function);
/// True if it does so through functions of the set.
bool calls_itself(llvm::Function& function, const function_set& through);

} // namespace hmmcc
