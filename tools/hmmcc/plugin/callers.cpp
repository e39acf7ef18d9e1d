// SPDX-License-Identifier: MIT
#include "callers.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>

namespace hmmcc {

void add_users(llvm::Value& value, llvm::SmallVectorImpl<llvm::Function*>& found) {
    for (llvm::User* const user : value.users()) {
        if (auto* const instruction = llvm::dyn_cast<llvm::Instruction>(user))
            found.push_back(instruction->getFunction());
        else if (llvm::isa<llvm::ConstantExpr>(user))
            add_users(*user, found);
    }
}

function_set with_callers(llvm::SmallVectorImpl<llvm::Function*>& open) {
    function_set found;
    while (!open.empty()) {
        llvm::Function* const function = open.pop_back_val();
        if (found.insert(function).second) add_users(*function, open);
    }
    return found;
}

bool is_called_only(const llvm::Function& function) {
    for (const llvm::User* const user : function.users()) {
        const auto* const call = llvm::dyn_cast<llvm::CallBase>(user);
        if (call == nullptr || call->getCalledOperand() != &function) return false;
    }
    return true;
}

bool calls_itself(llvm::Function& function, const function_set& through) {
    llvm::SmallVector<llvm::Function*, 16> open;
    function_set seen;
    add_users(function, open);
    while (!open.empty()) {
        llvm::Function* const caller = open.pop_back_val();
        if (caller == &function) return true;
        if (through.contains(caller) && seen.insert(caller).second) add_users(*caller, open);
    }
    return false;
}

} // namespace hmmcc
