// SPDX-License-Identifier: MIT
/*
 * Atomic operations on __shared__ variables. A single lane of the runtime runs all
 * threads of a block, one after the other, so ordinary operations suffice. We mark
 * them as depending on other threads, so that LLVM keeps them in the threads' order.
 */
#include "kernel.hpp"
#include "names.hpp"
#include "shared_variables.hpp"

#include <llvm/Analysis/ValueTracking.h>

namespace hmmcc {
namespace {

void mark(llvm::Instruction* access) {
    access->setMetadata(of_other_threads, llvm::MDNode::get(access->getContext(), {}));
}

/// The value that an operation stores; NULL for operations that CUDA programs don't produce.
llvm::Value* changed(llvm::IRBuilder<>& builder, llvm::AtomicRMWInst& operation, llvm::Value* old) {
    llvm::Value* const by = operation.getValOperand();
    switch (operation.getOperation()) {
    case llvm::AtomicRMWInst::Xchg:
        return by;
    case llvm::AtomicRMWInst::Add:
        return builder.CreateAdd(old, by);
    case llvm::AtomicRMWInst::Sub:
        return builder.CreateSub(old, by);
    case llvm::AtomicRMWInst::And:
        return builder.CreateAnd(old, by);
    case llvm::AtomicRMWInst::Or:
        return builder.CreateOr(old, by);
    case llvm::AtomicRMWInst::Xor:
        return builder.CreateXor(old, by);
    default:
        return nullptr;
    }
}

void lower(llvm::AtomicRMWInst& operation) {
    llvm::IRBuilder<> builder(&operation);
    auto* const old = builder.CreateAlignedLoad(operation.getType(), operation.getPointerOperand(),
                                                operation.getAlign());
    llvm::Value* const value = changed(builder, operation, old);
    if (value == nullptr) {
        old->eraseFromParent();
        return;
    }
    mark(old);
    mark(builder.CreateAlignedStore(value, operation.getPointerOperand(), operation.getAlign()));
    operation.replaceAllUsesWith(old);
    operation.eraseFromParent();
}

void lower(llvm::AtomicCmpXchgInst& operation) {
    llvm::IRBuilder<> builder(&operation);
    auto* const old =
        builder.CreateAlignedLoad(operation.getCompareOperand()->getType(),
                                  operation.getPointerOperand(), operation.getAlign());
    llvm::Value* const equal = builder.CreateICmpEQ(old, operation.getCompareOperand());
    mark(old);
    mark(builder.CreateAlignedStore(builder.CreateSelect(equal, operation.getNewValOperand(), old),
                                    operation.getPointerOperand(), operation.getAlign()));
    llvm::Value* result = llvm::UndefValue::get(operation.getType());
    result = builder.CreateInsertValue(result, old, 0);
    result = builder.CreateInsertValue(result, equal, 1);
    operation.replaceAllUsesWith(result);
    operation.eraseFromParent();
}

} // namespace

void lower_shared_atomics(kernel_body& body) {
    const auto is_shared = [&](const llvm::Value* place) {
        return llvm::getUnderlyingObject(place, 32) == body.shared;
    };
    for (llvm::BasicBlock& block : *body.function)
        for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
            if (auto* const operation = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
                if (is_shared(operation->getPointerOperand())) lower(*operation);
            } else if (auto* const exchange =
                           llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
                if (is_shared(exchange->getPointerOperand()) &&
                    exchange->getCompareOperand()->getType()->isIntegerTy())
                    lower(*exchange);
            }
        }
}

} // namespace hmmcc
