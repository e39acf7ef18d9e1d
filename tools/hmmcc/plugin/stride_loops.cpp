// SPDX-License-Identifier: MIT
/*
 * Makes all threads leave a loop in the same iteration, so that it runs in lockstep.
 *
 *      for (i = start; i < n; i += step)                start depends on threadIdx.x
 *
 * becomes
 *
 *      for (uniform = start of thread 0; uniform < n; uniform += step)
 *              if (i < n)                               i = uniform + threadIdx.x
 */
#include "stride_loops.hpp"

#include "thread_values.hpp"

#include <llvm/IR/CFG.h>

namespace hmmcc {
namespace {

constexpr int deepest_start = 10;            ///< depth of an expression
constexpr std::uint64_t shortest_stride = 8; ///< of constant steps

/// True if the value is known to be positive as a signed number.
bool is_positive(const kernel_body& body, const llvm::Value& value, int steps = deepest_start) {
    if (const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(&value))
        return number->getValue().isStrictlyPositive();
    for (unsigned i = 0; i < 3; i++)
        if (&value == body.block_size[i] || &value == body.grid_size[i]) return true;
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (instruction == nullptr || steps == 0) return false;
    if (llvm::isa<llvm::ZExtInst, llvm::SExtInst>(instruction))
        return is_positive(body, *instruction->getOperand(0), steps - 1);
    // blockDim * gridDim doesn't wrap, as the launch ensures.
    return instruction->getOpcode() == llvm::Instruction::Mul && instruction->hasNoSignedWrap() &&
           is_positive(body, *instruction->getOperand(0), steps - 1) &&
           is_positive(body, *instruction->getOperand(1), steps - 1);
}

/// True if the sum doesn't wrap, as a signed or unsigned number.
bool does_not_wrap(const llvm::Instruction& sum, bool is_signed, unsigned thread_side) {
    if (is_signed ? sum.hasNoSignedWrap() : sum.hasNoUnsignedWrap()) return true;
    const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(sum.getOperand(1 - thread_side));
    if (number == nullptr || !llvm::isa<llvm::LoadInst>(sum.getOperand(thread_side))) return false;
    return number->getValue().abs().ult(1U << 30) && (is_signed || !number->isNegative());
}

/// True if the value is thread 0's value plus threadIdx.x, and no sum wraps.
bool starts_at_thread(const kernel_body& body, const llvm::Value& value, bool is_signed,
                      int steps = deepest_start) {
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (instruction == nullptr || steps == 0) return false;
    if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(instruction))
        return load->getPointerOperand() == body.thread_index[0];
    if (llvm::isa<llvm::ZExtInst>(instruction))
        return starts_at_thread(body, *instruction->getOperand(0), false, steps - 1);
    // In an unsigned comparison, threads that start below 0 would be far from the others.
    if (llvm::isa<llvm::SExtInst>(instruction))
        return starts_at_thread(body, *instruction->getOperand(0), true, steps - 1) &&
               (is_signed || starts_at_thread(body, *instruction->getOperand(0), false, steps - 1));
    if (instruction->getOpcode() != llvm::Instruction::Add) return false;
    for (const unsigned i : {0U, 1U})
        if (does_not_wrap(*instruction, is_signed, i) &&
            is_of_launch(body, *instruction->getOperand(1 - i)) &&
            starts_at_thread(body, *instruction->getOperand(i), is_signed, steps - 1))
            return true;
    return false;
}

/// Emits the value for threadIdx.x = 0.
llvm::Value* of_thread_0(const kernel_body& body, llvm::IRBuilder<>& builder, llvm::Value& value) {
    auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (instruction == nullptr || instruction->getParent() == body.entry) return &value;
    if (llvm::isa<llvm::LoadInst>(instruction)) return builder.getInt32(0);
    llvm::Instruction* const again = instruction->clone();
    for (llvm::Use& operand : again->operands())
        if (follows_thread(body, *operand)) operand.set(of_thread_0(body, builder, *operand));
    builder.Insert(again);
    return again;
}

/// Recomputes a value that only depends on the launch, and that may be computed in the loop.
llvm::Value* compute_of_launch(const kernel_body& body, llvm::IRBuilder<>& builder,
                               llvm::Value& value) {
    auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (instruction == nullptr || instruction->getParent() == body.entry) return &value;
    llvm::Instruction* const again = instruction->clone();
    for (llvm::Use& operand : again->operands())
        operand.set(compute_of_launch(body, builder, *operand));
    builder.Insert(again);
    return again;
}

/// The pieces of a stride loop.
struct stride_loop {
    llvm::BasicBlock *before = nullptr, *header = nullptr, *latch = nullptr;
    llvm::PHINode* element = nullptr; ///< the loop variable
    llvm::Value* start = nullptr;
    llvm::Value* step = nullptr;
};

bool find_stride(const kernel_body& body, const llvm::Loop& loop, stride_loop& found) {
    found.before = loop.getLoopPredecessor();
    found.header = loop.getHeader();
    found.latch = loop.getLoopLatch();
    if (found.before == nullptr || found.latch == nullptr) return false;
    for (llvm::PHINode& phi : found.header->phis()) {
        if (!phi.getType()->isIntegerTy()) continue;
        const auto* const next =
            llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(found.latch));
        if (next == nullptr || next->getOpcode() != llvm::Instruction::Add) continue;
        const unsigned own = next->getOperand(0) == &phi ? 0 : 1;
        found.element = &phi;
        found.start = phi.getIncomingValueForBlock(found.before);
        found.step = next->getOperand(1 - own);
        const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(found.step);
        if (number != nullptr && number->getValue().abs().ult(shortest_stride)) continue;
        if (next->getOperand(own) == &phi && is_of_launch(body, *found.step) &&
            follows_thread(body, *found.start))
            return true;
    }
    return false;
}

/// The condition `element < n` at the beginning of an iteration, if it is the only exit.
llvm::ICmpInst* only_condition(const kernel_body& body, const llvm::Loop& loop,
                               const stride_loop& stride) {
    if (loop.getExitingBlock() != stride.header) return nullptr;
    auto* const branch = llvm::dyn_cast<llvm::BranchInst>(stride.header->getTerminator());
    if (branch == nullptr || !branch->isConditional() || !loop.contains(branch->getSuccessor(0)))
        return nullptr;
    auto* const compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
    if (compare == nullptr || compare->getParent() != stride.header || !compare->hasOneUse() ||
        compare->getOperand(0) != stride.element || !is_of_launch(body, *compare->getOperand(1)))
        return nullptr;
    const auto predicate = compare->getPredicate();
    const bool below = predicate == llvm::CmpInst::ICMP_SLT ||
                       predicate == llvm::CmpInst::ICMP_ULT ||
                       predicate == llvm::CmpInst::ICMP_SLE || predicate == llvm::CmpInst::ICMP_ULE;
    const bool alone =
        &*stride.header->getFirstNonPHIIt() == compare && compare->getNextNode() == branch;
    return below && alone ? compare : nullptr;
}

bool is_used_behind(const llvm::Loop& loop, const llvm::Value& value) {
    return llvm::any_of(value.users(), [&](const llvm::User* user) {
        return !loop.contains(llvm::cast<llvm::Instruction>(user));
    });
}

/// Keeps the loop variables of threads that skip the iteration, going from @own directly to @end.
void keep_what_changes(const stride_loop& stride, const llvm::PHINode* uniform,
                       llvm::BasicBlock* own, llvm::BasicBlock* end) {
    llvm::IRBuilder<> builder(&end->front());
    for (llvm::PHINode& phi : stride.header->phis()) {
        if (&phi == uniform || &phi == stride.element) continue;
        auto* const kept = builder.CreatePHI(phi.getType(), 2);
        kept->addIncoming(phi.getIncomingValueForBlock(end), stride.latch);
        kept->addIncoming(&phi, own);
        phi.setIncomingValueForBlock(end, kept);
    }
}

} // namespace

bool is_stride_loop(const kernel_body& body, const llvm::Loop& loop) {
    stride_loop stride;
    return find_stride(body, loop, stride);
}

void end_together(kernel_body& body, const llvm::Loop& loop) {
    stride_loop stride;
    if (!find_stride(body, loop, stride)) return;
    llvm::ICmpInst* const compare = only_condition(body, loop, stride);
    const unsigned width = stride.element->getType()->getIntegerBitWidth();
    if (compare == nullptr || (width != 32 && width != 64) || !is_positive(body, *stride.step) ||
        !starts_at_thread(body, *stride.start, compare->isSigned()) ||
        is_used_behind(loop, *stride.element) ||
        is_used_behind(loop, *stride.element->getIncomingValueForBlock(stride.latch)))
        return;

    llvm::PHINode& element = *stride.element;
    llvm::LLVMContext& context = element.getContext();
    llvm::IRBuilder<> before(stride.before->getTerminator());
    // Use 64 bits: thread 0's next number may exceed the type of the element.
    const bool is_signed = compare->isSigned();
    llvm::Type* const wide = before.getInt64Ty();
    llvm::Value* const first =
        before.CreateIntCast(of_thread_0(body, before, *stride.start), wide, is_signed);
    llvm::Value* const step =
        before.CreateIntCast(compute_of_launch(body, before, *stride.step), wide, is_signed);
    llvm::Value* const bound = before.CreateIntCast(
        compute_of_launch(body, before, *compare->getOperand(1)), wide, is_signed);

    llvm::IRBuilder<> at_header(&stride.header->front());
    auto* const uniform = at_header.CreatePHI(wide, 2, "uniform");
    auto* const branch = llvm::cast<llvm::BranchInst>(stride.header->getTerminator());
    llvm::BasicBlock* const iteration = branch->getSuccessor(0);
    auto* const own = llvm::BasicBlock::Create(context, "own", body.function, iteration);
    llvm::BasicBlock* const end =
        stride.latch->splitBasicBlock(stride.latch->getTerminator(), "iteration.end");

    // This thread's element, and a check whether it exists.
    llvm::IRBuilder<> builder(own);
    llvm::Value* const thread =
        builder.CreateLoad(builder.getInt32Ty(), body.thread_index[0], "thread");
    llvm::Value* const wide_mine =
        builder.CreateAdd(uniform, builder.CreateZExt(thread, wide), "", !is_signed, is_signed);
    llvm::Value* const mine = builder.CreateTrunc(wide_mine, element.getType());
    builder.CreateCondBr(builder.CreateICmp(compare->getPredicate(), wide_mine, bound), iteration,
                         end);
    for (llvm::PHINode& phi : iteration->phis())
        phi.replaceIncomingBlockWith(stride.header, own);
    branch->setSuccessor(0, own);
    llvm::IRBuilder<> at_test(branch);

    llvm::IRBuilder<> at_end(&end->front());
    keep_what_changes(stride, uniform, own, end);
    llvm::Value* const next = at_end.CreateAdd(uniform, step);
    uniform->addIncoming(first, stride.before);
    uniform->addIncoming(next, end);

    branch->setCondition(at_test.CreateICmp(compare->getPredicate(), uniform, bound));
    compare->eraseFromParent();
    auto* const old_next = llvm::cast<llvm::Instruction>(element.getIncomingValueForBlock(end));
    element.replaceAllUsesWith(mine);
    element.eraseFromParent();
    if (old_next->use_empty()) old_next->eraseFromParent();
}

} // namespace hmmcc
