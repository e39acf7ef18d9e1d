// SPDX-License-Identifier: MIT
/*
 * The second step: we split the kernel at its synchronization points.
 *
 * A value that is computed before such a point and used after it is kept in a
 * variable: a single one for the group if the value is uniform, else one for each
 * thread. We recompute values that only depend on threadIdx and the launch.
 */
#include "block_member.hpp"
#include "intrinsics.hpp"
#include "kernel.hpp"
#include "uniformity.hpp"

#include <llvm/IR/CFG.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

#include <cstddef>
#include <map>

namespace hmmcc {
namespace {

using hmmcuda::block_run;

hmmcuda::sync_kind kind_of(intrinsic what) {
    switch (what) {
    case intrinsic::block_count:
        return hmmcuda::sync_kind::block_count;
    case intrinsic::grid_barrier:
        return hmmcuda::sync_kind::grid_barrier;
    case intrinsic::lockstep:
        return hmmcuda::sync_kind::lockstep;
    case intrinsic::warp_barrier:
        return hmmcuda::sync_kind::warp_barrier;
    case intrinsic::warp_exchange:
    case intrinsic::warp_shift:
        return hmmcuda::sync_kind::warp_exchange;
    case intrinsic::warp_exchange32:
    case intrinsic::warp_shift32:
        return hmmcuda::sync_kind::warp_exchange32;
    case intrinsic::warp_ballot:
        return hmmcuda::sync_kind::warp_ballot;
    case intrinsic::warp_match:
        return hmmcuda::sync_kind::warp_match;
    case intrinsic::warp_active:
        return hmmcuda::sync_kind::warp_active;
    default:
        return hmmcuda::sync_kind::block_barrier;
    }
}

/// Lowers each operation to a store before its synchronization point and a load after it.
class splitter {
  public:
    explicit splitter(kernel_body& body) : body_(body) {}

    void run() {
        llvm::SmallVector<llvm::CallInst*, 8> calls;
        for (llvm::BasicBlock& block : *body_.function)
            for (llvm::Instruction& instruction : block)
                if (auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction))
                    if (is_sync_point(intrinsic_of(*call))) calls.push_back(call);
        for (llvm::CallInst* const call : calls)
            split_at(*call, intrinsic_of(*call));
    }

  private:
    /// This thread's element of an array in the block_run.
    llvm::Value* element(llvm::IRBuilder<>& builder, std::size_t offset, llvm::Type* type) {
        llvm::Value* const array = address_of_member(body_, builder, offset);
        llvm::Value* const group_rank = builder.CreateLoad(builder.getInt32Ty(), body_.group_rank);
        return builder.CreateInBoundsGEP(type, array,
                                         builder.CreateZExt(group_rank, builder.getInt64Ty()));
    }
    void give(llvm::IRBuilder<>& builder, std::size_t offset, llvm::Type* type,
              llvm::Value* value) {
        builder.CreateStore(value, element(builder, offset, type));
    }

    void give_operands(llvm::CallInst& call, intrinsic what) {
        llvm::IRBuilder<> builder(&call);
        llvm::Type* const wide = builder.getInt64Ty();
        llvm::Type* const narrow = builder.getInt32Ty();
        if (what == intrinsic::block_count) {
            llvm::Value* const counts = builder.CreateZExt(
                builder.CreateICmpNE(call.getArgOperand(0), builder.getInt32(0)), narrow);
            llvm::Value* const old = builder.CreateLoad(narrow, body_.count);
            builder.CreateStore(builder.CreateAdd(old, counts), body_.count);
            return;
        }
        if (what == intrinsic::warp_barrier)
            give(builder, offsetof(block_run, mask), narrow, call.getArgOperand(0));
        if (is_exchange(what)) {
            give(builder, offsetof(block_run, mask), narrow, call.getArgOperand(0));
            builder.CreateStore(call.getArgOperand(1),
                                exchanged(builder, body_.given_place,
                                          builder.CreateLoad(narrow, body_.group_rank),
                                          call.getType()));
            return;
        }
        if (what != intrinsic::warp_ballot && what != intrinsic::warp_match) return;
        give(builder, offsetof(block_run, mask), narrow, call.getArgOperand(0));
        give(builder, offsetof(block_run, given), wide, call.getArgOperand(1));
    }

    llvm::Value* exchanged(llvm::IRBuilder<>& builder, llvm::AllocaInst* place,
                           llvm::Value* group_rank, llvm::Type* type) {
        llvm::Value* part = builder.CreateLoad(place->getAllocatedType(), place);
        if (type->isIntegerTy(32))
            part =
                builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), part, hmmcuda::to_narrow);
        return builder.CreateInBoundsGEP(type, part,
                                         builder.CreateSExt(group_rank, builder.getInt64Ty()));
    }
    llvm::Value* taken(llvm::IRBuilder<>& builder, llvm::Value* group_rank, llvm::Type* type) {
        return builder.CreateLoad(type, exchanged(builder, body_.taken_place, group_rank, type));
    }
    /// Loads the value of the thread at a distance in the warp, or its own value if there is no
    /// such thread. Consecutive threads load consecutive elements, so LLVM can vectorize this.
    llvm::Value* take_shifted(llvm::IRBuilder<>& builder, const llvm::CallInst& call) {
        llvm::Value* const group_rank = builder.CreateLoad(builder.getInt32Ty(), body_.group_rank);
        const auto limit = [&](llvm::Value* value, llvm::CmpInst::Predicate within, int most) {
            llvm::Value* const bound = builder.getInt32(static_cast<std::uint32_t>(most));
            return builder.CreateSelect(builder.CreateICmp(within, value, bound), value, bound);
        };
        constexpr int farthest = hmmcuda::warp_size;
        llvm::Value* const distance =
            limit(limit(call.getArgOperand(2), llvm::CmpInst::ICMP_SLT, farthest),
                  llvm::CmpInst::ICMP_SGT, -farthest);
        llvm::Value* const other = taken(
            builder, builder.CreateAdd(group_rank, distance, "", false, true), call.getType());
        llvm::Value* const own = taken(builder, group_rank, call.getType());
        return builder.CreateSelect(
            builder.CreateICmpNE(call.getArgOperand(3), builder.getInt32(0)), other, own);
    }

    /// The result of the operation, loaded after the synchronization point.
    llvm::Value* take(llvm::IRBuilder<>& builder, const llvm::CallInst& call, intrinsic what) {
        llvm::Type* const narrow = builder.getInt32Ty();
        if (what == intrinsic::block_count) return builder.CreateLoad(narrow, body_.last_count);
        if (is_shift(what)) return take_shifted(builder, call);
        if (is_exchange(what))
            return taken(builder, builder.CreateAnd(call.getArgOperand(2), hmmcuda::warp_size - 1),
                         call.getType());
        llvm::Type* const wide = builder.getInt64Ty();
        return builder.CreateLoad(wide, element(builder, offsetof(block_run, got), wide));
    }

    void split_at(llvm::CallInst& call, intrinsic what) {
        body_.warps |= is_warp_operation(what);
        give_operands(call, what);
        sync_point point;
        point.kind = kind_of(what);
        point.block = call.getParent()->splitBasicBlock(&call, "sync");
        point.behind = point.block->splitBasicBlock(call.getNextNode(), "behind");
        if (const llvm::DILocation* place = call.getDebugLoc()) {
            while (place->getInlinedAt() != nullptr)
                place = place->getInlinedAt();
            point.file = place->getFilename().str();
            point.line = place->getLine();
        }
        if (!call.getType()->isVoidTy()) {
            llvm::IRBuilder<> builder(point.behind, point.behind->getFirstInsertionPt());
            call.replaceAllUsesWith(take(builder, call, what));
        }
        call.eraseFromParent();
        body_.sync_points.push_back(point);
        body_.sync_blocks.insert(point.block);
    }

    kernel_body& body_;
};

/// Finds the values that live across a synchronization point, and recomputes or spills them.
class value_keeper {
  public:
    value_keeper(kernel_body& body, const uniformity& same) : body_(body), same_(same) {
        for (std::uint32_t state = 1; state < body.states(); state++)
            regions_.push_back(region_from(body, start_of(body, state)));
    }

    void run() {
        llvm::SetVector<llvm::Instruction*> living;
        for (llvm::BasicBlock& block : *body_.function)
            if (&block != body_.entry)
                for (llvm::Instruction& instruction : block) {
                    known_.insert(&instruction);
                    if (lives_across(instruction)) living.insert(&instruction);
                }
        llvm::SetVector<llvm::Instruction*> kept;
        for (llvm::Instruction* const value : living)
            if (!compute_at_uses_if_possible(*value)) kept.insert(value);
        // Recomputation can extend the lifetime of uniform values.
        for (llvm::Instruction* const value : used_again_)
            if (lives_across(*value)) kept.insert(value);
        for (llvm::Instruction* const value : kept)
            keep(*value);
    }

  private:
    static constexpr int most_steps = 10; ///< depth of recomputed expressions

    /// True if a thread can reach @block from a synchronization point without passing @by.
    bool comes_without(llvm::BasicBlock* by, llvm::BasicBlock* block) {
        for (std::uint32_t i = 0; i < regions_.size(); i++) {
            if (!regions_[i].contains(block)) continue;
            if (!regions_[i].contains(by)) return true;
            const auto key = std::make_pair(i, by);
            auto found = without_.find(key);
            if (found == without_.end())
                found = without_.emplace(key, region_from(body_, start_of(body_, i + 1), by)).first;
            if (found->second.contains(block)) return true;
        }
        return false;
    }
    bool lives_across(llvm::Instruction& value) {
        for (const llvm::Use& use : value.uses()) {
            llvm::BasicBlock* block = llvm::cast<llvm::Instruction>(use.getUser())->getParent();
            if (const auto* const phi = llvm::dyn_cast<llvm::PHINode>(use.getUser()))
                block = phi->getIncomingBlock(use);
            if (block != value.getParent() && comes_without(value.getParent(), block)) return true;
        }
        return false;
    }

    /// True if the value is uniform.
    bool is_uniform(const llvm::Value& value) const {
        return known_.contains(&value) && !same_.syncs_diverge && !same_.varies(value);
    }
    /// True if the value only depends on the launch, on threadIdx, and, with @and_uniform, on
    /// uniform values, which are spilled if necessary.
    bool can_be_computed_again(const llvm::Value& value, int steps, bool and_uniform) const {
        const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
        if (instruction == nullptr || instruction->getParent() == body_.entry) return true;
        if (and_uniform && steps < most_steps && is_uniform(value)) return true;
        if (steps == 0) return false;
        if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(instruction))
            return body_.is_loop_variable(load->getPointerOperand());
        if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::CmpInst, llvm::SelectInst,
                       llvm::GetElementPtrInst>(instruction))
            return false;
        // A copy could be contracted to a multiply-add, and round differently.
        if (llvm::isa<llvm::BinaryOperator>(instruction) &&
            instruction->getType()->isFPOrFPVectorTy())
            return false;
        for (const llvm::Value* const operand : instruction->operands())
            if (!can_be_computed_again(*operand, steps - 1, and_uniform)) return false;
        return true;
    }
    llvm::Value* compute_again(llvm::Value& value, llvm::Instruction* at, bool and_uniform,
                               bool first = true) {
        auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
        if (instruction == nullptr || instruction->getParent() == body_.entry) return &value;
        if (and_uniform && !first && is_uniform(value)) {
            used_again_.insert(instruction);
            return &value;
        }
        llvm::Instruction* const again = instruction->clone();
        for (llvm::Use& operand : again->operands())
            operand.set(compute_again(*operand, at, and_uniform, false));
        again->insertBefore(at->getIterator());
        return again;
    }
    void compute_at_uses(llvm::Instruction& value, bool and_uniform) {
        llvm::SmallVector<llvm::Use*, 16> uses;
        for (llvm::Use& use : value.uses())
            uses.push_back(&use);
        values_of_phis known;
        for (llvm::Use* const use : uses) {
            auto* at = llvm::cast<llvm::Instruction>(use->getUser());
            if (auto* const phi = llvm::dyn_cast<llvm::PHINode>(at)) {
                llvm::Value*& same = known[{phi, phi->getIncomingBlock(*use)}];
                if (same == nullptr)
                    same = compute_again(value, phi->getIncomingBlock(*use)->getTerminator(),
                                         and_uniform);
                use->set(same);
            } else if (at->getParent() != value.getParent()) {
                use->set(compute_again(value, at, and_uniform));
            }
        }
    }

    bool compute_at_uses_if_possible(llvm::Instruction& value) {
        for (const bool and_uniform : {false, true}) {
            if (and_uniform && is_uniform(value)) return false;
            if (!can_be_computed_again(value, most_steps, and_uniform)) continue;
            compute_at_uses(value, and_uniform);
            return true;
        }
        return false;
    }

    void keep(llvm::Instruction& value) {
        if (value.use_empty()) return;
        const bool uniform = is_uniform(value);
        llvm::AllocaInst* const variable =
            llvm::DemoteRegToStack(value, false, body_.entry->getTerminator()->getIterator());
        (uniform ? body_.uniform_variables : body_.context_variables).push_back(variable);
    }

    kernel_body& body_;
    const uniformity& same_;
    std::vector<block_set> regions_; ///< index: state - 1
    std::map<std::pair<std::uint32_t, llvm::BasicBlock*>, block_set> without_;
    llvm::DenseSet<const llvm::Value*> known_; ///< instructions that same_ covers
    llvm::SetVector<llvm::Instruction*> used_again_;
};

/// Removes debug information about the values of source variables.
void drop_debug_values(llvm::Function& function) {
    for (llvm::BasicBlock& block : function)
        for (llvm::Instruction& instruction : block)
            instruction.dropDbgRecords();
}

/// False for uniform variables: unchanged parameters and the variables of the work-item loop.
bool belongs_to_thread(const kernel_body& body, const llvm::AllocaInst& variable) {
    return !body.is_loop_variable(&variable) && !llvm::is_contained(body.parameters, &variable) &&
           &variable != body.count && &variable != body.last_count &&
           &variable != body.given_place && &variable != body.taken_place;
}

} // namespace

block_set region_from(const kernel_body& body, llvm::BasicBlock* from,
                      const llvm::BasicBlock* without) {
    block_set found;
    llvm::SmallVector<llvm::BasicBlock*, 16> open{from};
    while (!open.empty()) {
        llvm::BasicBlock* const block = open.pop_back_val();
        if (body.sync_blocks.contains(block) || block == without || !found.insert(block)) continue;
        open.append(llvm::succ_begin(block), llvm::succ_end(block));
    }
    return found;
}

llvm::BasicBlock* start_of(const kernel_body& body, std::uint32_t state) {
    return state == hmmcuda::state_start ? body.start : body.sync_points[state - 2].behind;
}

void split_kernel(kernel_body& body) {
    splitter(body).run();
    if (body.sync_points.empty()) return;
    drop_debug_values(*body.function);
    for (llvm::Instruction& instruction : *body.entry)
        if (auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
            if (belongs_to_thread(body, *variable)) body.context_variables.push_back(variable);
    const uniformity same = find_uniformity(body);
    body.can_mix = same.syncs_diverge || same.ends_diverge;
    value_keeper(body, same).run();
}

} // namespace hmmcc
