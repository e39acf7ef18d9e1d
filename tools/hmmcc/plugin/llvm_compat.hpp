// SPDX-License-Identifier: MIT
// Differences between the versions of LLVM and clang that we support. Pointers are typed in LLVM 14
// and opaque in later versions.
#pragma once

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Utils/Local.h>

#include <string_view>

namespace hmmcc {

inline bool starts_with(std::string_view text, std::string_view start) {
    return text.starts_with(start);
}
inline bool ends_with(std::string_view text, std::string_view end) {
    return text.ends_with(end);
}

inline llvm::PointerType* pointer_to(llvm::Type* type) {
#if LLVM_VERSION_MAJOR < 15
    return type->getPointerTo();
#else
    return llvm::PointerType::get(type->getContext(), 0);
#endif
}
inline llvm::PointerType* byte_pointer(llvm::LLVMContext& context) {
    return pointer_to(llvm::Type::getInt8Ty(context));
}

inline llvm::SROAPass split_variables() {
#if LLVM_VERSION_MAJOR < 16
    return {};
#else
    return llvm::SROAPass(llvm::SROAOptions::PreserveCFG);
#endif
}

/// Spills the value to a variable, which is created before @place.
inline llvm::AllocaInst* keep_in_memory(llvm::Instruction& value, llvm::Instruction* place) {
#if LLVM_VERSION_MAJOR < 19
    return llvm::DemoteRegToStack(value, false, place);
#else
    return llvm::DemoteRegToStack(value, false, place->getIterator());
#endif
}

/// Removes debug information about the values of source variables.
inline void drop_debug_values(llvm::Function& function) {
    for (llvm::BasicBlock& block : function)
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
#if LLVM_VERSION_MAJOR >= 19
            instruction.dropDbgRecords();
#endif
            if (llvm::isa<llvm::DbgVariableIntrinsic>(instruction)) instruction.eraseFromParent();
        }
}

} // namespace hmmcc
