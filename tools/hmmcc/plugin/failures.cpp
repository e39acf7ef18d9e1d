// SPDX-License-Identifier: MIT
#include "failures.hpp"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

namespace hmmcc {
namespace {

bool is_assertion(const llvm::Function& function) {
    return function.isDeclaration() && function.getName() == "__assert_fail" &&
           function.arg_size() == 4;
}

/// A function of the runtime that takes these arguments: the block, the thread, and others.
llvm::FunctionCallee reporter(llvm::Module& module, const char* name,
                              llvm::ArrayRef<llvm::Value*> arguments) {
    llvm::SmallVector<llvm::Type*, 6> types;
    for (const llvm::Value* const argument : arguments)
        types.push_back(argument->getType());
    llvm::FunctionCallee found = module.getOrInsertFunction(
        name, llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), types, false));
    if (auto* const function = llvm::dyn_cast<llvm::Function>(found.getCallee())) {
        function->addFnAttr(llvm::Attribute::NoUnwind);
        function->addFnAttr(llvm::Attribute::Cold);
    }
    return found;
}

void report_assertion(llvm::CallInst& call, const thread_of_failure& thread) {
    llvm::IRBuilder<> builder(&call);
    llvm::SmallVector<llvm::Value*, 6> arguments{thread.run, thread.rank};
    arguments.append(call.arg_begin(), call.arg_end());
    llvm::CallInst* const instead =
        builder.CreateCall(reporter(*call.getModule(), "__hmm_assert_fail", arguments), arguments);
    instead->setDoesNotReturn();
    call.eraseFromParent();
}

void report_trap(llvm::CallInst& call, const thread_of_failure& thread) {
    llvm::IRBuilder<> builder(&call);
    const llvm::DILocation* where = call.getDebugLoc();
    // __trap() is inlined from our headers: report its caller
    if (where != nullptr && where->getInlinedAt() != nullptr &&
        where->getScope()->getSubprogram()->getName() == "__trap")
        where = where->getInlinedAt();
    llvm::SmallVector<llvm::Value*, 6> arguments{thread.run, thread.rank};
    arguments.push_back(builder.getInt32(where == nullptr ? 0 : where->getLine()));
    arguments.push_back(builder.CreateGlobalString(where == nullptr ? "" : where->getFilename()));
    builder.CreateCall(reporter(*call.getModule(), "__hmm_report_trap", arguments), arguments);
}

} // namespace

bool is_failure(const llvm::Function& function) {
    return is_assertion(function) || function.getIntrinsicID() == llvm::Intrinsic::trap;
}

void name_threads_of_failures(llvm::Function& function, find_thread thread) {
    for (llvm::Instruction& instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
        auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        const llvm::Function* const called = call == nullptr ? nullptr : call->getCalledFunction();
        if (called == nullptr || !is_failure(*called)) continue;
        if (is_assertion(*called))
            report_assertion(*call, thread(*call));
        else
            report_trap(*call, thread(*call));
    }
}

} // namespace hmmcc
