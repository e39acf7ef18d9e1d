// SPDX-License-Identifier: MIT
/*
 * Loops in which each thread takes every so many elements, starting at its own:
 *
 *      for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
 *
 * The threads of a GPU go through the elements side by side. Here one thread
 * after the other would go through all of the memory. A cut at the end of each
 * round keeps them side by side; threads do not wait for each other there.
 */
#include "intrinsics.hpp"
#include "kernel.hpp"
#include "names.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace hmmcc {
namespace {

constexpr int most_steps = 10;                ///< of what computes a value
constexpr std::uint64_t most_variables = 512; ///< bytes that a thread may have to keep

/// True if the value is computed from the thread's number.
bool follows_thread(const kernel_body& body, const llvm::Value& value, int steps = most_steps) {
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (instruction == nullptr || steps == 0) return false;
    if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(instruction))
        return body.is_loop_variable(load->getPointerOperand());
    if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst>(instruction)) return false;
    return llvm::any_of(instruction->operands(), [&](const llvm::Use& operand) {
        return follows_thread(body, *operand, steps - 1);
    });
}

/// True if the value is computed from values of the launch.
bool is_of_launch(const kernel_body& body, const llvm::Value& value, int steps = most_steps) {
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (instruction == nullptr || instruction->getParent() == body.entry) return true;
    if (steps == 0 || !llvm::isa<llvm::BinaryOperator, llvm::CastInst>(instruction)) return false;
    return llvm::all_of(instruction->operands(), [&](const llvm::Use& operand) {
        return is_of_launch(body, *operand, steps - 1);
    });
}

/// A variable of the loop starts at the thread's own element and grows by what is the same for all.
bool takes_turns(const kernel_body& body, const llvm::Loop& loop) {
    llvm::BasicBlock* const before = loop.getLoopPredecessor();
    llvm::BasicBlock* const latch = loop.getLoopLatch();
    if (before == nullptr || latch == nullptr) return false;
    for (const llvm::PHINode& phi : loop.getHeader()->phis()) {
        if (!phi.getType()->isIntegerTy()) continue;
        const auto* const next =
            llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(latch));
        if (next == nullptr || next->getOpcode() != llvm::Instruction::Add) continue;
        const unsigned own = next->getOperand(0) == &phi ? 0 : 1;
        const llvm::Value& step = *next->getOperand(1 - own);
        if (next->getOperand(own) == &phi && is_of_launch(body, step) &&
            follows_thread(body, *phi.getIncomingValueForBlock(before)))
            return true;
    }
    return false;
}

bool has_cut(const llvm::Loop& loop) {
    for (const llvm::BasicBlock* const block : loop.blocks())
        for (const llvm::Instruction& instruction : *block)
            if (const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction))
                if (is_cut(intrinsic_of(*call))) return true;
    return false;
}

/// Bytes of arrays and the like, which threads would keep from round to round.
std::uint64_t bytes_of_variables(const kernel_body& body) {
    const llvm::DataLayout& layout = body.function->getParent()->getDataLayout();
    std::uint64_t bytes = 0;
    for (const llvm::Instruction& instruction : *body.entry)
        if (const auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
            bytes += layout.getTypeAllocSize(variable->getAllocatedType());
    return bytes;
}

} // namespace

void pace_loops(kernel_body& body) {
    if (bytes_of_variables(body) > most_variables) return;
    llvm::DominatorTree dominators(*body.function);
    const llvm::LoopInfo loops(dominators);
    llvm::SmallVector<std::pair<llvm::BasicBlock*, llvm::BasicBlock*>, 4> ends;
    for (const llvm::Loop* const loop : loops)
        if (takes_turns(body, *loop) && !has_cut(*loop))
            ends.emplace_back(loop->getLoopLatch(), loop->getHeader());
    llvm::Module& module = *body.function->getParent();
    for (const auto& [latch, header] : ends) {
        llvm::BasicBlock* const end = llvm::SplitEdge(latch, header);
        llvm::IRBuilder<> builder(end->getTerminator());
        builder.CreateCall(module.getOrInsertFunction(pace_intrinsic, builder.getVoidTy()));
    }
}

} // namespace hmmcc
