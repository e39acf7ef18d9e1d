// SPDX-License-Identifier: MIT
/*
 * The last step: work-item loops, and the control flow between them.
 *
 *      entry
 *      phase:  for each group:                          the block, or each of its warps
 *                  while its threads can continue:
 *                      the loop of its state            all threads have the same state
 *                      or resolve, and a masked loop    the threads have diverged
 *              all groups are at a barrier of the block, or have ended
 *              repeat until all threads have ended
 *
 * At a barrier of the grid the function returns, and the next call continues at `phase`.
 *
 * A kernel without synchronization points is a single loop.
 */
#include "block_member.hpp"
#include "context_arrays.hpp"
#include "group_variables.hpp"
#include "kernel.hpp"
#include "work_item_loops.hpp"

#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <cstddef>

namespace hmmcc {
namespace {

using hmmcuda::block_run;
using hmmcuda::sync_kind;

/// Emits the code that runs the groups of a block in phases.
class scheduler {
  public:
    explicit scheduler(kernel_body& body)
        : body_(body),
          module_(*body.function->getParent()),
          number_(llvm::Type::getInt32Ty(body.function->getContext())),
          end_(basic_block("end")),
          arrays_(body),
          loops_(body, group_) {
        llvm::IRBuilder<>(end_).CreateRetVoid();
    }

    void run() {
        llvm::Instruction* const to_start = body_.entry->getTerminator();
        llvm::IRBuilder<> entry(to_start);
        group_.first = new_variable(entry, "first");
        group_.end = new_variable(entry, "last");
        group_.current = new_variable(entry, "current");
        group_.next = new_variable(entry, "next");
        group_.any = new_variable(entry, "any");
        group_.all = new_variable(entry, "all");
        entry.CreateStore(constant(0), body_.count);
        entry.CreateStore(constant(0), body_.last_count);
        llvm::BasicBlock* const begin =
            body_.sync_points.empty() ? only_loop(entry) : phases(entry);
        to_start->setSuccessor(0, begin);
        llvm::EliminateUnreachableBlocks(*body_.function);
    }

  private:
    llvm::BasicBlock* basic_block(const llvm::Twine& name) { return new_basic_block(body_, name); }
    llvm::ConstantInt* constant(std::uint32_t value) {
        return llvm::ConstantInt::get(llvm::cast<llvm::IntegerType>(number_), value);
    }
    llvm::FunctionCallee runtime(const char* name, llvm::ArrayRef<llvm::Type*> parameters,
                                 llvm::Type* result) {
        return module_.getOrInsertFunction(name,
                                           llvm::FunctionType::get(result, parameters, false));
    }

    llvm::BasicBlock* only_loop(llvm::IRBuilder<>& entry) {
        entry.CreateStore(constant(0), group_.first);
        entry.CreateStore(body_.threads, group_.end);
        return loops_.make(hmmcuda::state_start, false, end_);
    }

    // ---- members of the block_run ------------------------------------------

    llvm::Value* member(llvm::IRBuilder<>& builder, std::size_t offset, llvm::Type* type) {
        return builder.CreateLoad(type, address_of_member(body_, builder, offset));
    }
    void store_member(llvm::IRBuilder<>& builder, std::size_t offset, llvm::AllocaInst* variable) {
        builder.CreateStore(builder.CreateLoad(variable->getAllocatedType(), variable),
                            address_of_member(body_, builder, offset));
    }

    // ---- phases ------------------------------------------------------------

    llvm::BasicBlock* phases(llvm::IRBuilder<>& entry) {
        arrays_.replace_variables(entry);
        group_.thread_states = member(entry, offsetof(block_run, thread_states), entry.getPtrTy());
        group_states_ = member(entry, offsetof(block_run, group_states), entry.getPtrTy());
        group_number_ = new_variable(entry, "group");
        any_group_ = new_variable(entry, "any_group");
        all_groups_ = new_variable(entry, "all_groups");
        for (auto& index : group_.first_index)
            index = new_variable(entry, "first_index");
        groups_ = body_.warps
                      ? entry.CreateLShr(entry.CreateAdd(body_.threads, constant(31)), constant(5))
                      : constant(1);
        keep_uniform_values(entry);
        if (body_.can_mix)
            for (llvm::AllocaInst* const value : body_.uniform_variables)
                group_.left.push_back(
                    entry.CreateAlloca(value->getAllocatedType(), nullptr, "left"));

        phase_ = basic_block("phase");
        group_head_ = basic_block("group");
        dispatch_ = basic_block("dispatch");
        stopped_ = basic_block("stopped");
        save_ = basic_block("save");
        phase_end_ = basic_block("phase.end");
        llvm::BasicBlock* const begin = basic_block("begin");
        begin_groups(begin);
        llvm::BasicBlock* const first = body_.grid_barriers ? begin_or_go_on(begin) : begin;
        {
            llvm::IRBuilder<> builder(phase_);
            builder.CreateStore(constant(0), group_number_);
            builder.CreateStore(constant(0), any_group_);
            builder.CreateStore(constant(~0U), all_groups_);
            builder.CreateBr(group_head_);
        }
        enter_group();
        if (body_.can_mix) resolve_ = resolve_group();
        dispatch_states();
        continue_or_stop();
        leave_group();
        end_phase();
        return first;
    }

    /// Uniform values get an array with an element for each group if several groups take turns, or
    /// if the function returns at grid barriers.
    void keep_uniform_values(llvm::IRBuilder<>& entry) {
        if (!body_.warps && !body_.grid_barriers) return;
        for (llvm::AllocaInst* const value : body_.uniform_variables) {
            llvm::Type* const type = value->getAllocatedType();
            kept_.push_back(arrays_.take(entry, module_.getDataLayout().getTypeAllocSize(type)));
        }
    }
    void move_uniform_values(llvm::IRBuilder<>& builder, bool save) {
        for (unsigned i = 0; i < kept_.size(); i++) {
            llvm::AllocaInst* const value = body_.uniform_variables[i];
            llvm::Type* const type = value->getAllocatedType();
            llvm::Value* const element =
                builder.CreateInBoundsGEP(type, kept_[i], load_number(builder, group_number_));
            builder.CreateStore(builder.CreateLoad(type, save ? value : element),
                                save ? element : value);
        }
    }

    void begin_groups(llvm::BasicBlock* begin) {
        llvm::BasicBlock* const more = basic_block("begin.next");
        llvm::IRBuilder<> builder(begin);
        builder.CreateBr(more);
        builder.SetInsertPoint(more);
        auto* const group = builder.CreatePHI(number_, 2);
        group->addIncoming(constant(0), begin);
        builder.CreateStore(constant(hmmcuda::state_start),
                            builder.CreateInBoundsGEP(number_, group_states_, group));
        llvm::Value* const next = builder.CreateAdd(group, constant(1));
        group->addIncoming(next, more);
        builder.CreateCondBr(builder.CreateICmpULT(next, groups_), more, phase_);
    }

    llvm::Value* waits_at(llvm::IRBuilder<>& builder) {
        return address_of_member(body_, builder, offsetof(block_run, waits_at));
    }
    /// After a grid barrier, continues with the states and values that are in memory.
    llvm::BasicBlock* begin_or_go_on(llvm::BasicBlock* begin) {
        llvm::BasicBlock* const call = basic_block("call");
        llvm::IRBuilder<> builder(call);
        llvm::Value* const place = waits_at(builder);
        llvm::Value* const state = load_number(builder, place);
        builder.CreateStore(constant(hmmcuda::state_end), place);
        builder.CreateCondBr(builder.CreateICmpEQ(state, constant(hmmcuda::state_end)), begin,
                             phase_);
        return call;
    }
    /// Continues after a barrier of the block; returns from the function at a barrier of the grid.
    void pass_barrier(llvm::IRBuilder<>& builder, llvm::Value* state) {
        if (!body_.grid_barriers) {
            builder.CreateBr(phase_);
            return;
        }
        llvm::BasicBlock* const leave = basic_block("leave");
        auto* const branch = builder.CreateSwitch(state, phase_);
        for (std::uint32_t i = 2; i < body_.states(); i++)
            if (body_.sync_points[i - 2].kind == sync_kind::grid_barrier)
                branch->addCase(constant(i), leave);
        llvm::IRBuilder<> at(leave);
        at.CreateStore(state, waits_at(at));
        at.CreateBr(end_);
    }

    void enter_group() {
        llvm::BasicBlock* const enter = basic_block("group.enter");
        llvm::IRBuilder<> builder(group_head_);
        llvm::Value* const group = load_number(builder, group_number_);
        llvm::Value* const state =
            load_number(builder, builder.CreateInBoundsGEP(number_, group_states_, group));
        builder.CreateStore(state, group_.current);
        builder.CreateCondBr(builder.CreateICmpEQ(state, constant(hmmcuda::state_end)), save_,
                             enter);
        builder.SetInsertPoint(enter);
        if (body_.warps) {
            llvm::Value* const first = builder.CreateShl(group, constant(5));
            llvm::Value* const last = builder.CreateAdd(first, constant(hmmcuda::warp_size));
            builder.CreateStore(first, group_.first);
            builder.CreateStore(builder.CreateSelect(builder.CreateICmpULT(last, body_.threads),
                                                     last, body_.threads),
                                group_.end);
            find_first_index(builder, first);
        } else {
            builder.CreateStore(constant(0), group_.first);
            builder.CreateStore(body_.threads, group_.end);
        }
        move_uniform_values(builder, false);
        builder.CreateBr(dispatch_);
    }

    /// The threadIdx of a warp's first thread. Avoids the divisions for warps in the first row.
    void find_first_index(llvm::IRBuilder<>& builder, llvm::Value* first) {
        llvm::BasicBlock* const in_first_row = basic_block("group.first_row");
        llvm::BasicBlock* const in_another = basic_block("group.another_row");
        llvm::BasicBlock* const found = basic_block("group.found");
        builder.CreateCondBr(builder.CreateICmpULT(first, body_.block_size[0]), in_first_row,
                             in_another);
        const auto store = [&](llvm::Value* x, llvm::Value* y, llvm::Value* z) {
            builder.CreateStore(x, group_.first_index[0]);
            builder.CreateStore(y, group_.first_index[1]);
            builder.CreateStore(z, group_.first_index[2]);
            builder.CreateBr(found);
        };
        builder.SetInsertPoint(in_first_row);
        store(first, constant(0), constant(0));
        builder.SetInsertPoint(in_another);
        llvm::Value* const line = builder.CreateUDiv(first, body_.block_size[0]);
        store(builder.CreateURem(first, body_.block_size[0]),
              builder.CreateURem(line, body_.block_size[1]),
              builder.CreateUDiv(line, body_.block_size[1]));
        builder.SetInsertPoint(found);
    }

    void dispatch_states() {
        llvm::IRBuilder<> builder(dispatch_);
        auto* const branch = builder.CreateSwitch(load_number(builder, group_.current),
                                                  body_.can_mix ? resolve_ : end_);
        for (std::uint32_t state = 1; state < body_.states(); state++)
            branch->addCase(constant(state), loops_.make(state, false, stopped_));
    }

    /// All threads of the group have stopped. In lockstep they continue, and at a warp
    /// operation after it is performed; otherwise the group waits.
    void continue_or_stop() {
        llvm::IRBuilder<> builder(stopped_);
        auto* const branch = builder.CreateSwitch(load_number(builder, group_.current), save_);
        if (body_.can_mix) branch->addCase(constant(hmmcuda::state_mixed), resolve_);
        for (std::uint32_t state = 2; state < body_.states(); state++) {
            const sync_kind kind = body_.sync_points[state - 2].kind;
            if (kind == sync_kind::warp_barrier || kind == sync_kind::lockstep)
                branch->addCase(constant(state), dispatch_);
            if (kind == sync_kind::warp_exchange || kind == sync_kind::warp_exchange32)
                branch->addCase(constant(state), exchange());
            const char* const function = operation(kind);
            if (function == nullptr) continue;
            llvm::BasicBlock* const operate = basic_block("operate");
            branch->addCase(constant(state), operate);
            llvm::IRBuilder<> at(operate);
            at.CreateCall(runtime(function, {body_.run->getType(), number_}, at.getVoidTy()),
                          {body_.run, at.CreateSub(load_number(at, group_.end),
                                                   load_number(at, group_.first))});
            at.CreateBr(dispatch_);
        }
    }
    /// All threads have stored a value: swap the areas, so that they load from where they stored.
    llvm::BasicBlock* exchange() {
        if (exchange_ != nullptr) return exchange_;
        exchange_ = basic_block("exchange");
        llvm::IRBuilder<> builder(exchange_);
        llvm::Type* const type = body_.given_place->getAllocatedType();
        llvm::Value* const given = builder.CreateLoad(type, body_.given_place);
        builder.CreateStore(builder.CreateLoad(type, body_.taken_place), body_.given_place);
        builder.CreateStore(given, body_.taken_place);
        builder.CreateBr(dispatch_);
        return exchange_;
    }
    static const char* operation(sync_kind kind) {
        switch (kind) {
        case sync_kind::warp_ballot:
            return "__hmm_together_ballot";
        case sync_kind::warp_match:
            return "__hmm_together_match";
        case sync_kind::warp_active:
            return "__hmm_together_active";
        default:
            return nullptr;
        }
    }

    /// The threads of the group have diverged.
    llvm::BasicBlock* resolve_group() {
        llvm::BasicBlock* const resolve = basic_block("resolve");
        llvm::BasicBlock* const together = basic_block("resolve.together");
        llvm::BasicBlock* const masked = basic_block("resolve.masked");
        llvm::IRBuilder<> builder(resolve);
        if (body_.warps) {
            store_member(builder, offsetof(block_run, given_place), body_.given_place);
            store_member(builder, offsetof(block_run, taken_place), body_.taken_place);
        }
        llvm::Value* const found = builder.CreateCall(
            runtime("__hmm_resolve_group", {body_.run->getType(), number_, number_}, number_),
            {body_.run, load_number(builder, group_.first), load_number(builder, group_.end)});
        llvm::Value* const state = builder.CreateAnd(found, constant(hmmcuda::state_mask));
        builder.CreateStore(state, group_.current);
        auto* const branch =
            builder.CreateSwitch(builder.CreateAnd(found, constant(~hmmcuda::state_mask)), save_);
        branch->addCase(constant(hmmcuda::state_together), together);
        branch->addCase(constant(hmmcuda::state_ready), masked);
        llvm::IRBuilder<>(together).CreateBr(dispatch_);
        llvm::IRBuilder<> by_state(masked);
        auto* const states = by_state.CreateSwitch(state, end_);
        for (std::uint32_t i = 2; i < body_.states(); i++)
            states->addCase(constant(i), loops_.make(i, true, resolve));
        return resolve;
    }

    void leave_group() {
        llvm::IRBuilder<> builder(save_);
        llvm::Value* const state = load_number(builder, group_.current);
        llvm::Value* const group = load_number(builder, group_number_);
        builder.CreateStore(state, builder.CreateInBoundsGEP(number_, group_states_, group));
        move_uniform_values(builder, true);
        builder.CreateStore(builder.CreateOr(load_number(builder, any_group_), state), any_group_);
        builder.CreateStore(builder.CreateAnd(load_number(builder, all_groups_), state),
                            all_groups_);
        llvm::Value* const next = builder.CreateAdd(group, constant(1));
        builder.CreateStore(next, group_number_);
        builder.CreateCondBr(builder.CreateICmpULT(next, groups_), group_head_, phase_end_);
    }

    /// All groups are at a barrier of the block or the grid, or have ended.
    void end_phase() {
        llvm::BasicBlock* const wait = basic_block("phase.wait");
        llvm::BasicBlock* const check = basic_block("phase.check");
        llvm::BasicBlock* const release = basic_block("phase.release");
        llvm::IRBuilder<> builder(phase_end_);
        llvm::Value* const any = load_number(builder, any_group_);
        llvm::Value* const all = load_number(builder, all_groups_);
        builder.CreateCondBr(builder.CreateICmpEQ(any, constant(hmmcuda::state_end)), end_, wait);
        builder.SetInsertPoint(wait);
        llvm::Value* const same =
            builder.CreateAnd(builder.CreateICmpEQ(any, all),
                              builder.CreateICmpNE(any, constant(hmmcuda::state_mixed)));
        builder.CreateCondBr(same, release, check);
        builder.SetInsertPoint(check);
        llvm::Value* const resolved = builder.CreateCall(
            runtime("__hmm_resolve_block", {body_.run->getType(), number_}, number_),
            {body_.run, constant(body_.warps ? hmmcuda::warp_size : hmmcuda::most_threads)});
        builder.CreateBr(release);
        builder.SetInsertPoint(release);
        auto* const state = builder.CreatePHI(number_, 2);
        state->addIncoming(any, wait);
        state->addIncoming(resolved, check);
        builder.CreateStore(load_number(builder, body_.count), body_.last_count);
        builder.CreateStore(constant(0), body_.count);
        pass_barrier(builder, state);
    }

    kernel_body& body_;
    llvm::Module& module_;
    llvm::Type* number_;
    llvm::BasicBlock* end_;

    group_variables group_;
    llvm::AllocaInst *group_number_ = nullptr, *any_group_ = nullptr, *all_groups_ = nullptr;
    llvm::Value *group_states_ = nullptr, *groups_ = nullptr;
    /// Arrays for body_.uniform_variables, indexed by group.
    llvm::SmallVector<llvm::Value*, 8> kept_;
    llvm::BasicBlock *phase_ = nullptr, *group_head_ = nullptr, *dispatch_ = nullptr,
                     *stopped_ = nullptr, *save_ = nullptr, *phase_end_ = nullptr,
                     *resolve_ = nullptr, *exchange_ = nullptr;
    context_arrays arrays_;
    work_item_loops loops_;
};

} // namespace

void close_kernel(kernel_body& body) {
    scheduler(body).run();
}

} // namespace hmmcc
