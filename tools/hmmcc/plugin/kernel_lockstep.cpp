// SPDX-License-Identifier: MIT
/*
 * Loops that threads run in lockstep.
 *
 * In some (grid-stride loops), each thread starts at its own element and has a
 * common stride:
 *
 *      for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
 *
 * In others, all threads go through the rows of a matrix, each in its own column:
 *
 *      for (i = 0; i < n; i++) sum += a[i * n + threadIdx.x]
 *
 * On a GPU, neighbouring threads access neighbouring elements at the same time. A
 * work-item loop around the whole loop would instead let one thread after the other
 * go through all of the memory. So we insert a synchronization point at the beginning
 * of an iteration, which keeps the threads side by side, and lets LLVM put elements of
 * several threads into a vector. Threads don't wait for each other there.
 */
#include "intrinsics.hpp"
#include "kernel.hpp"
#include "loops.hpp"
#include "names.hpp"
#include "stride_loops.hpp"
#include "thread_values.hpp"

#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/CFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LoopRotationUtils.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/UnrollLoop.h>

#include <array>

namespace hmmcc {
namespace {

constexpr std::uint64_t most_variables = 512; ///< bytes of a thread's variables
constexpr unsigned most_kept = 4;             ///< varying loop variables
constexpr unsigned iterations_of_sync = 4;    ///< between two synchronization points
constexpr unsigned most_of_iteration = 120;   ///< instructions of a loop body
constexpr unsigned few_iterations = 32;       ///< LLVM unrolls these

/// Size of variables in memory, which would have to become context arrays.
std::uint64_t bytes_of_variables(const kernel_body& body) {
    const llvm::DataLayout& layout = body.function->getParent()->getDataLayout();
    std::uint64_t bytes = 0;
    for (const llvm::Instruction& instruction : *body.entry)
        if (const auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
            bytes += layout.getTypeAllocSize(variable->getAllocatedType());
    return bytes;
}

/// Finds uniform loops in which neighbouring threads access neighbouring elements.
class column_loops {
  public:
    column_loops(const kernel_body& body, loop_analyses& known)
        : body_(body), known_(known), after_(*body.function) {}

    bool contain(const llvm::Loop& loop) {
        if (!loop.isInnermost() || !sync_points_of(loop).empty() ||
            instructions_of(loop) > most_of_iteration || has_few_iterations(loop))
            return false;
        uniform_.clear();
        for (const llvm::Loop* each = &loop; each != nullptr; each = each->getParentLoop())
            if (!is_uniform(*each)) return false;
        return kept_values(loop) <= most_kept && comes_together(loop) && goes_along_row(loop);
    }

  private:
    bool has_few_iterations(const llvm::Loop& loop) const {
        const unsigned iterations = known_.evolution.getSmallConstantTripCount(&loop);
        return iterations != 0 && iterations <= few_iterations;
    }
    /// True if the basic block only has a condition and its branch.
    static bool only_checks(llvm::BasicBlock& header) {
        const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(header.getTerminator());
        const llvm::Instruction& first = *header.getFirstNonPHIIt();
        return branch != nullptr && branch->isConditional() && &first == branch->getCondition() &&
               first.getNextNode() == branch;
    }
    /// True if all threads leave the loop in the same iteration. Adds its uniform variables.
    bool is_uniform(const llvm::Loop& loop) {
        llvm::BasicBlock* const before = loop.getLoopPredecessor();
        llvm::BasicBlock* const latch = loop.getLoopLatch();
        // Accept only loops that check before the first iteration.
        if (before == nullptr || latch == nullptr || latch == loop.getHeader() ||
            loop.getExitingBlock() != loop.getHeader() || !only_checks(*loop.getHeader()))
            return false;
        for (const llvm::PHINode& phi : loop.getHeader()->phis()) {
            const auto* const next =
                llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(latch));
            if (next == nullptr || !phi.getType()->isIntegerTy() ||
                !is_of_launch(body_, *phi.getIncomingValueForBlock(before)))
                continue;
            const unsigned own = next->getOperand(0) == &phi ? 0 : 1;
            if (next->getOperand(own) == &phi && is_of_launch(body_, *next->getOperand(1 - own)))
                uniform_.insert(&phi);
        }
        const auto* const branch = llvm::cast<llvm::BranchInst>(loop.getHeader()->getTerminator());
        return is_same_of_launch(*branch->getCondition());
    }
    /// True if the condition is uniform. Loads don't qualify, because threads that run later may
    /// see other values.
    bool is_same_of_launch(const llvm::Value& condition) const {
        const auto* const compare = llvm::dyn_cast<llvm::CmpInst>(&condition);
        return compare != nullptr && llvm::all_of(compare->operands(), [&](const llvm::Use& each) {
                   return uniform_.contains(each) || is_of_launch(body_, *each);
               });
    }
    unsigned kept_values(const llvm::Loop& loop) const {
        unsigned count = 0;
        for (const llvm::PHINode& phi : loop.getHeader()->phis())
            count += uniform_.contains(&phi) ? 0 : 1;
        return count;
    }

    bool leads_out(const llvm::BasicBlock& block) const {
        return block.size() == 1 && llvm::isa<llvm::ReturnInst>(block.getTerminator());
    }
    /// True if all threads that haven't ended reach the loop.
    bool comes_together(const llvm::Loop& loop) const {
        llvm::BasicBlock* const before = loop.getLoopPredecessor();
        const auto* node = known_.dominators.getNode(before);
        for (; node != nullptr; node = node->getIDom()) {
            const llvm::BasicBlock* const block = node->getBlock();
            const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
            if (block != before && after_.dominates(before, block)) continue;
            if (branch == nullptr) return false;
            if (!branch->isConditional() || is_same_of_launch(*branch->getCondition())) continue;
            if (!leads_out(*branch->getSuccessor(0)) && !leads_out(*branch->getSuccessor(1)))
                return false;
        }
        return true;
    }

    bool goes_along_row(const llvm::Loop& loop) const {
        unsigned next = 0, scattered = 0;
        for (const llvm::BasicBlock* const block : loop.blocks())
            for (const llvm::Instruction& instruction : *block) {
                const llvm::Value* const place = llvm::getLoadStorePointerOperand(&instruction);
                if (place == nullptr || llvm::isa<llvm::AllocaInst>(place)) continue;
                const along_row address = value_along_row(body_, *place, uniform_);
                next += address == along_row::next ? 1 : 0;
                scattered += address == along_row::scattered ? 1 : 0;
            }
        return next > scattered;
    }

    const kernel_body& body_;
    loop_analyses& known_;
    llvm::PostDominatorTree after_;
    llvm::DenseSet<const llvm::Value*> uniform_;
};

/// Puts a synchronization point at the beginning of each iteration.
void keep_in_lockstep(kernel_body& body, llvm::BasicBlock* header) {
    llvm::Module& module = *body.function->getParent();
    llvm::IRBuilder<> builder(header, header->getFirstInsertionPt());
    builder.CreateCall(module.getOrInsertFunction(lockstep_intrinsic, builder.getVoidTy()));
}

/// Moves the condition of a loop from the end of an iteration to its beginning, after the
/// synchronization point, so that we emit the code of an iteration once.
void check_first(const llvm::Loop& loop) {
    llvm::BasicBlock* const header = loop.getHeader();
    llvm::BasicBlock* const before = loop.getLoopPredecessor();
    llvm::BasicBlock* const latch = loop.getLoopLatch();
    auto* const branch =
        latch == nullptr ? nullptr : llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
    if (before == nullptr || branch == nullptr || !branch->isConditional()) return;
    auto* const condition = llvm::dyn_cast<llvm::CmpInst>(branch->getCondition());
    if (condition == nullptr || condition->getParent() != latch || !condition->hasOneUse()) return;
    // Before the first iteration, the condition needs the initial values of loop variables.
    for (const llvm::Use& operand : condition->operands()) {
        const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&*operand);
        const auto of_next_round = llvm::count_if(header->phis(), [&](const llvm::PHINode& phi) {
            return phi.getIncomingValueForBlock(latch) == instruction;
        });
        if (instruction != nullptr && loop.contains(instruction) && of_next_round != 1) return;
    }

    llvm::BasicBlock* const iteration =
        header->splitBasicBlock(header->getFirstNonPHIIt(), "iteration");
    llvm::BasicBlock* const end = latch == header ? iteration : latch;
    llvm::BasicBlock* const behind =
        branch->getSuccessor(branch->getSuccessor(0) == header ? 1 : 0);
    // Values from the end of an iteration become loop variables.
    const auto at_beginning = [&](llvm::Value& value) -> llvm::Value* {
        auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
        if (instruction == nullptr ||
            (instruction->getParent() != iteration && !loop.contains(instruction->getParent())))
            return &value;
        for (llvm::PHINode& phi : header->phis())
            if (phi.getIncomingValueForBlock(end) == &value) return &phi;
        auto* const phi = llvm::PHINode::Create(value.getType(), 2, "", header->begin());
        phi->addIncoming(llvm::UndefValue::get(value.getType()), before);
        phi->addIncoming(&value, end);
        return phi;
    };
    condition->moveBefore(*header, header->getTerminator()->getIterator());
    for (llvm::Use& operand : condition->operands())
        operand.set(at_beginning(*operand));
    for (llvm::PHINode& phi : behind->phis()) {
        phi.setIncomingValueForBlock(end, at_beginning(*phi.getIncomingValueForBlock(end)));
        phi.replaceIncomingBlockWith(end, header);
    }
    const bool stays = branch->getSuccessor(0) == header;
    llvm::ReplaceInstWithInst(header->getTerminator(),
                              stays ? llvm::BranchInst::Create(iteration, behind, condition)
                                    : llvm::BranchInst::Create(behind, iteration, condition));
    llvm::ReplaceInstWithInst(end->getTerminator(), llvm::BranchInst::Create(header));
}

/// Unrolls the loop to have several iterations between two synchronization points. Returns the
/// headers of the unrolled loop and of the remainder loop.
std::array<llvm::BasicBlock*, 2> unroll(kernel_body& body, llvm::BasicBlock* header) {
    loop_analyses known(*body.function);
    llvm::Loop* const loop = known.loops.getLoopFor(header);
    const llvm::SimplifyQuery query(body.function->getParent()->getDataLayout(), &known.library,
                                    &known.dominators, &known.assumptions);
    llvm::simplifyLoop(loop, &known.dominators, &known.loops, &known.evolution, &known.assumptions,
                       nullptr, false);
    llvm::formLCSSARecursively(*loop, known.dominators, &known.loops, &known.evolution);
    llvm::LoopRotation(loop, &known.loops, &known.target, &known.assumptions, &known.dominators,
                       &known.evolution, nullptr, query, false, ~0U, false);
    llvm::UnrollLoopOptions options{};
    options.Count = iterations_of_sync;
    options.Runtime = true;
    llvm::Loop* rest = nullptr;
    llvm::UnrollLoop(loop, options, &known.loops, &known.evolution, &known.dominators,
                     &known.assumptions, &known.target, &known.remarks, true, &rest);
    std::array<llvm::BasicBlock*, 2> iterations{};
    if (rest != nullptr) iterations[1] = rest->getHeader();
    iterations[0] = loop->getHeader();
    for (const llvm::BasicBlock* const begin : iterations)
        if (begin != nullptr) check_first(*known.loops.getLoopFor(begin));
    return iterations;
}

} // namespace

void lockstep_loops(kernel_body& body) {
    if (bytes_of_variables(body) > most_variables) return;
    llvm::SmallVector<llvm::BasicBlock*, 4> strides, columns;
    {
        loop_analyses known(*body.function);
        column_loops wanted(body, known);
        for (const llvm::Loop* const loop : known.loops.getLoopsInPreorder()) {
            if (loop->isOutermost() && is_stride_loop(body, *loop) && sync_points_of(*loop).empty())
                strides.push_back(loop->getHeader());
            else if (body.optimizes && wanted.contain(*loop))
                columns.push_back(loop->getHeader());
        }
    }
    for (llvm::BasicBlock* const header : strides) {
        llvm::DominatorTree dominators(*body.function);
        const llvm::LoopInfo loops(dominators);
        end_together(body, *loops.getLoopFor(header));
    }
    for (llvm::BasicBlock* const column : columns)
        for (llvm::BasicBlock* const header : unroll(body, column))
            if (header != nullptr) keep_in_lockstep(body, header);
    for (llvm::BasicBlock* const header : strides)
        keep_in_lockstep(body, header);
}

} // namespace hmmcc
