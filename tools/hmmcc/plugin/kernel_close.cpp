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
 * A kernel without synchronization points is a single loop. The loops have metadata
 * that lets LLVM vectorize them: between two synchronization points, threads don't
 * depend on each other.
 */
#include "block_member.hpp"
#include "kernel.hpp"
#include "part_accesses.hpp"
#include "row_guards.hpp"
#include "separate_functions.hpp"
#include "thread_arrays.hpp"

#include <llvm/IR/CFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace hmmcc {
namespace {

using hmmcuda::block_run;
using hmmcuda::cut_kind;

/// A work-item loop: runs each thread of a group to its next synchronization point.
struct thread_loop {
    std::uint32_t state;
    bool masked;                   ///< runs only threads that are marked as ready
    llvm::BasicBlock* before;      ///< runs once, before the loop
    llvm::BasicBlock* row;         ///< for each row of threads
    llvm::BasicBlock* row_end;     ///< for each row
    llvm::BasicBlock* after;       ///< runs once, after the loop
    std::set<std::uint32_t> exits; ///< the states in which threads leave it
    llvm::SmallVector<llvm::Value*, 8> group_values;
    llvm::Value* first = nullptr; ///< the first thread of the group
};

/// The inner work-item loop, over a row or a piece of a row.
struct row_loop {
    llvm::BasicBlock* head;                           ///< for each thread
    llvm::BasicBlock* ran;                            ///< for each thread that ran
    llvm::BasicBlock* latch;                          ///< for each thread
    std::map<std::uint32_t, llvm::BasicBlock*> exits; ///< by the state in which a thread leaves
    llvm::MDNode* accesses; ///< group of independent accesses; NULL: not known
};

/// The values of guards in a row_loop: 0, 1, or -1 for a guard that is not constant there. Empty:
/// no guard is constant.
using constant_guards = llvm::SmallVector<int, 8>;

/// Threads of a row that a row_loop runs.
struct row_piece {
    llvm::Value *from, *to;   ///< threadIdx.x
    llvm::Value *rank, *lane; ///< of the first thread
    bool is_warp = false;     ///< all threads of a warp
};

constexpr std::size_t most_variants = 2; ///< guards of which each combination gets a loop

class closer {
  public:
    explicit closer(kernel_body& body)
        : body_(body),
          module_(*body.function->getParent()),
          context_(body.function->getContext()),
          number_(llvm::Type::getInt32Ty(context_)),
          end_(block("end")),
          arrays_(body),
          accesses_(body) {
        llvm::IRBuilder<>(end_).CreateRetVoid();
    }

    void run() {
        llvm::Instruction* const to_start = body_.entry->getTerminator();
        llvm::IRBuilder<> entry(to_start);
        first_ = variable(entry, "first");
        end_of_group_ = variable(entry, "last");
        current_ = variable(entry, "current");
        next_ = variable(entry, "next");
        any_ = variable(entry, "any");
        all_ = variable(entry, "all");
        entry.CreateStore(constant(0), body_.count);
        entry.CreateStore(constant(0), body_.last_count);
        llvm::BasicBlock* const begin = body_.cuts.empty() ? only_loop(entry) : phases(entry);
        to_start->setSuccessor(0, begin);
        llvm::EliminateUnreachableBlocks(*body_.function);
    }

  private:
    llvm::BasicBlock* block(const llvm::Twine& name) {
        return llvm::BasicBlock::Create(context_, name, body_.function);
    }
    llvm::ConstantInt* constant(std::uint32_t value) {
        return llvm::ConstantInt::get(llvm::cast<llvm::IntegerType>(number_), value);
    }
    llvm::AllocaInst* variable(llvm::IRBuilder<>& builder, const char* name) {
        return builder.CreateAlloca(number_, nullptr, name);
    }
    llvm::Value* load(llvm::IRBuilder<>& builder, llvm::Value* place) {
        return builder.CreateLoad(number_, place);
    }
    llvm::FunctionCallee runtime(const char* name, llvm::ArrayRef<llvm::Type*> parameters,
                                 llvm::Type* result) {
        return module_.getOrInsertFunction(name,
                                           llvm::FunctionType::get(result, parameters, false));
    }

    llvm::BasicBlock* only_loop(llvm::IRBuilder<>& entry) {
        entry.CreateStore(constant(0), first_);
        entry.CreateStore(body_.threads, end_of_group_);
        return make_loop(hmmcuda::state_start, false, end_);
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
        states_ = member(entry, offsetof(block_run, thread_states), entry.getPtrTy());
        group_states_ = member(entry, offsetof(block_run, group_states), entry.getPtrTy());
        group_ = variable(entry, "group");
        any_group_ = variable(entry, "any_group");
        all_groups_ = variable(entry, "all_groups");
        for (auto& index : first_index_)
            index = variable(entry, "first_index");
        groups_ = body_.warps
                      ? entry.CreateLShr(entry.CreateAdd(body_.threads, constant(31)), constant(5))
                      : constant(1);
        keep_group_values(entry);
        if (body_.can_mix)
            for (llvm::AllocaInst* const value : body_.of_group)
                left_.push_back(entry.CreateAlloca(value->getAllocatedType(), nullptr, "left"));

        phase_ = block("phase");
        group_head_ = block("group");
        dispatch_ = block("dispatch");
        stopped_ = block("stopped");
        save_ = block("save");
        phase_end_ = block("phase.end");
        llvm::BasicBlock* const begin = block("begin");
        begin_groups(begin);
        llvm::BasicBlock* const first = body_.grid_barriers ? begin_or_go_on(begin) : begin;
        {
            llvm::IRBuilder<> builder(phase_);
            builder.CreateStore(constant(0), group_);
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
    void keep_group_values(llvm::IRBuilder<>& entry) {
        if (!body_.warps && !body_.grid_barriers) return;
        for (llvm::AllocaInst* const value : body_.of_group) {
            llvm::Type* const type = value->getAllocatedType();
            kept_.push_back(arrays_.take(entry, module_.getDataLayout().getTypeAllocSize(type)));
        }
    }
    void move_group_values(llvm::IRBuilder<>& builder, bool save) {
        for (unsigned i = 0; i < kept_.size(); i++) {
            llvm::AllocaInst* const value = body_.of_group[i];
            llvm::Type* const type = value->getAllocatedType();
            llvm::Value* const element =
                builder.CreateInBoundsGEP(type, kept_[i], load(builder, group_));
            builder.CreateStore(builder.CreateLoad(type, save ? value : element),
                                save ? element : value);
        }
    }

    void begin_groups(llvm::BasicBlock* begin) {
        llvm::BasicBlock* const more = block("begin.next");
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
        llvm::BasicBlock* const call = block("call");
        llvm::IRBuilder<> builder(call);
        llvm::Value* const place = waits_at(builder);
        llvm::Value* const state = load(builder, place);
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
        llvm::BasicBlock* const leave = block("leave");
        auto* const branch = builder.CreateSwitch(state, phase_);
        for (std::uint32_t i = 2; i < body_.states(); i++)
            if (body_.cuts[i - 2].kind == cut_kind::grid_barrier)
                branch->addCase(constant(i), leave);
        llvm::IRBuilder<> at(leave);
        at.CreateStore(state, waits_at(at));
        at.CreateBr(end_);
    }

    void enter_group() {
        llvm::BasicBlock* const enter = block("group.enter");
        llvm::IRBuilder<> builder(group_head_);
        llvm::Value* const group = load(builder, group_);
        llvm::Value* const state =
            load(builder, builder.CreateInBoundsGEP(number_, group_states_, group));
        builder.CreateStore(state, current_);
        builder.CreateCondBr(builder.CreateICmpEQ(state, constant(hmmcuda::state_end)), save_,
                             enter);
        builder.SetInsertPoint(enter);
        if (body_.warps) {
            llvm::Value* const first = builder.CreateShl(group, constant(5));
            llvm::Value* const last = builder.CreateAdd(first, constant(hmmcuda::warp_size));
            builder.CreateStore(first, first_);
            builder.CreateStore(builder.CreateSelect(builder.CreateICmpULT(last, body_.threads),
                                                     last, body_.threads),
                                end_of_group_);
            find_first_index(builder, first);
        } else {
            builder.CreateStore(constant(0), first_);
            builder.CreateStore(body_.threads, end_of_group_);
        }
        move_group_values(builder, false);
        builder.CreateBr(dispatch_);
    }

    /// The threadIdx of a warp's first thread. Avoids the divisions for warps in the first row.
    void find_first_index(llvm::IRBuilder<>& builder, llvm::Value* first) {
        llvm::BasicBlock* const in_first_row = block("group.first_row");
        llvm::BasicBlock* const in_another = block("group.another_row");
        llvm::BasicBlock* const found = block("group.found");
        builder.CreateCondBr(builder.CreateICmpULT(first, body_.block_size[0]), in_first_row,
                             in_another);
        const auto store = [&](llvm::Value* x, llvm::Value* y, llvm::Value* z) {
            builder.CreateStore(x, first_index_[0]);
            builder.CreateStore(y, first_index_[1]);
            builder.CreateStore(z, first_index_[2]);
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
        auto* const branch =
            builder.CreateSwitch(load(builder, current_), body_.can_mix ? resolve_ : end_);
        for (std::uint32_t state = 1; state < body_.states(); state++)
            branch->addCase(constant(state), make_loop(state, false, stopped_));
    }

    /// All threads of the group have stopped. They continue at `pace`, and at a warp operation
    /// after it is performed; otherwise the group waits.
    void continue_or_stop() {
        llvm::IRBuilder<> builder(stopped_);
        auto* const branch = builder.CreateSwitch(load(builder, current_), save_);
        if (body_.can_mix) branch->addCase(constant(hmmcuda::state_mixed), resolve_);
        for (std::uint32_t state = 2; state < body_.states(); state++) {
            const cut_kind kind = body_.cuts[state - 2].kind;
            if (kind == cut_kind::warp_barrier || kind == cut_kind::pace)
                branch->addCase(constant(state), dispatch_);
            if (kind == cut_kind::warp_exchange || kind == cut_kind::warp_exchange32)
                branch->addCase(constant(state), exchange());
            const char* const function = operation(kind);
            if (function == nullptr) continue;
            llvm::BasicBlock* const operate = block("operate");
            branch->addCase(constant(state), operate);
            llvm::IRBuilder<> at(operate);
            at.CreateCall(runtime(function, {body_.run->getType(), number_}, at.getVoidTy()),
                          {body_.run, at.CreateSub(load(at, end_of_group_), load(at, first_))});
            at.CreateBr(dispatch_);
        }
    }
    /// All threads have stored a value: swap the areas, so that they load from where they stored.
    llvm::BasicBlock* exchange() {
        if (exchange_ != nullptr) return exchange_;
        exchange_ = block("exchange");
        llvm::IRBuilder<> builder(exchange_);
        llvm::Type* const type = body_.given_place->getAllocatedType();
        llvm::Value* const given = builder.CreateLoad(type, body_.given_place);
        builder.CreateStore(builder.CreateLoad(type, body_.taken_place), body_.given_place);
        builder.CreateStore(given, body_.taken_place);
        builder.CreateBr(dispatch_);
        return exchange_;
    }
    static const char* operation(cut_kind kind) {
        switch (kind) {
        case cut_kind::warp_ballot:
            return "__hmm_together_ballot";
        case cut_kind::warp_match:
            return "__hmm_together_match";
        case cut_kind::warp_active:
            return "__hmm_together_active";
        default:
            return nullptr;
        }
    }

    /// The threads of the group have diverged.
    llvm::BasicBlock* resolve_group() {
        llvm::BasicBlock* const resolve = block("resolve");
        llvm::BasicBlock* const together = block("resolve.together");
        llvm::BasicBlock* const masked = block("resolve.masked");
        llvm::IRBuilder<> builder(resolve);
        if (body_.warps) {
            store_member(builder, offsetof(block_run, given_place), body_.given_place);
            store_member(builder, offsetof(block_run, taken_place), body_.taken_place);
        }
        llvm::Value* const found = builder.CreateCall(
            runtime("__hmm_resolve_group", {body_.run->getType(), number_, number_}, number_),
            {body_.run, load(builder, first_), load(builder, end_of_group_)});
        llvm::Value* const state = builder.CreateAnd(found, constant(hmmcuda::state_mask));
        builder.CreateStore(state, current_);
        auto* const branch =
            builder.CreateSwitch(builder.CreateAnd(found, constant(~hmmcuda::state_mask)), save_);
        branch->addCase(constant(hmmcuda::state_together), together);
        branch->addCase(constant(hmmcuda::state_ready), masked);
        llvm::IRBuilder<>(together).CreateBr(dispatch_);
        llvm::IRBuilder<> by_state(masked);
        auto* const states = by_state.CreateSwitch(state, end_);
        for (std::uint32_t i = 2; i < body_.states(); i++)
            states->addCase(constant(i), make_loop(i, true, resolve));
        return resolve;
    }

    void leave_group() {
        llvm::IRBuilder<> builder(save_);
        llvm::Value* const state = load(builder, current_);
        llvm::Value* const group = load(builder, group_);
        builder.CreateStore(state, builder.CreateInBoundsGEP(number_, group_states_, group));
        move_group_values(builder, true);
        builder.CreateStore(builder.CreateOr(load(builder, any_group_), state), any_group_);
        builder.CreateStore(builder.CreateAnd(load(builder, all_groups_), state), all_groups_);
        llvm::Value* const next = builder.CreateAdd(group, constant(1));
        builder.CreateStore(next, group_);
        builder.CreateCondBr(builder.CreateICmpULT(next, groups_), group_head_, phase_end_);
    }

    /// All groups are at a barrier of the block or the grid, or have ended.
    void end_phase() {
        llvm::BasicBlock* const wait = block("phase.wait");
        llvm::BasicBlock* const check = block("phase.check");
        llvm::BasicBlock* const release = block("phase.release");
        llvm::IRBuilder<> builder(phase_end_);
        llvm::Value* const any = load(builder, any_group_);
        llvm::Value* const all = load(builder, all_groups_);
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
        builder.CreateStore(load(builder, body_.count), body_.last_count);
        builder.CreateStore(constant(0), body_.count);
        pass_barrier(builder, state);
    }

    // ---- loops -------------------------------------------------------------

    /// Makes the loop of a state, which continues at @then. Returns its first block.
    llvm::BasicBlock* make_loop(std::uint32_t state, bool masked, llvm::BasicBlock* then) {
        const std::string name = (masked ? "masked" : "threads") + std::to_string(state);
        thread_loop loop{state,
                         masked,
                         block(name),
                         block(name + ".row"),
                         block(name + ".row_end"),
                         block(name + ".after"),
                         {},
                         {}};
        begin_loop(loop);
        make_rows(loop);
        end_loop(loop, then);
        return loop.before;
    }

    void begin_loop(thread_loop& loop) {
        llvm::IRBuilder<> builder(loop.before);
        builder.CreateStore(constant(0), any_);
        builder.CreateStore(constant(~0U), all_);
        for (llvm::AllocaInst* const value : body_.of_group)
            loop.group_values.push_back(builder.CreateLoad(value->getAllocatedType(), value));
        for (unsigned i = 0; i < left_.size(); i++)
            builder.CreateStore(loop.group_values[i], left_[i]);
        loop.first = load(builder, first_);
    }

    /// The loop over rows. Rows are complete if the group is a block. The first and last row of a
    /// warp may be incomplete.
    void make_rows(thread_loop& loop) {
        llvm::IRBuilder<> before(loop.before);
        llvm::Value* const size = body_.block_size[0];
        llvm::Value* const end = load(before, end_of_group_);
        llvm::Value *first_x = constant(0), *first_y = first_x, *first_z = first_x;
        if (body_.warps) {
            first_x = load(before, first_index_[0]);
            first_y = load(before, first_index_[1]);
            first_z = load(before, first_index_[2]);
        }
        before.CreateBr(loop.row);

        llvm::IRBuilder<> row(loop.row);
        const auto of_row = [&](llvm::Value* first) {
            auto* const phi = row.CreatePHI(number_, 2);
            phi->addIncoming(first, loop.before);
            return phi;
        };
        auto *const at = of_row(loop.first), *const y = of_row(first_y), *const z = of_row(first_z);
        llvm::Value *from = first_x, *to = size;
        if (body_.warps) {
            auto* const x = of_row(first_x);
            x->addIncoming(constant(0), loop.row_end);
            from = x;
            llvm::Value* const rest =
                row.CreateAdd(from, row.CreateSub(end, at, "", true, true), "", true, true);
            to = row.CreateSelect(row.CreateICmpULT(rest, size), rest, size);
        }
        row.CreateStore(y, body_.thread_index[1]);
        row.CreateStore(z, body_.thread_index[2]);
        const row_piece all{from, to, at, row.CreateSub(at, loop.first, "", true, true)};
        run_row(loop, row, all, y, z);

        llvm::IRBuilder<> row_end(loop.row_end);
        llvm::Value* const next_row =
            row_end.CreateAdd(at, row_end.CreateSub(to, from, "", true, true), "", true, true);
        llvm::Value* const next_y = row_end.CreateAdd(y, constant(1), "", true, true);
        llvm::Value* const plane_ends = row_end.CreateICmpEQ(next_y, body_.block_size[1]);
        at->addIncoming(next_row, loop.row_end);
        y->addIncoming(row_end.CreateSelect(plane_ends, constant(0), next_y), loop.row_end);
        z->addIncoming(
            row_end.CreateAdd(z, row_end.CreateZExt(plane_ends, number_), "", true, true),
            loop.row_end);
        row_end.CreateCondBr(row_end.CreateICmpULT(next_row, end), loop.row, loop.after);
    }

    /// Runs the threads of a row in one loop, or in pieces if there are guards.
    void run_row(thread_loop& loop, llvm::IRBuilder<>& row, const row_piece& all, llvm::Value* y,
                 llvm::Value* z) {
        llvm::BasicBlock* const start = start_of(body_, loop.state);
        const block_set part = region_from(body_, start);
        const row_guards guards(body_, part, start);
        if (!loop.masked && body_.optimizes && !guards.all().empty())
            return run_pieces(loop, row, all, values_of_row(loop, row, all, y, z), guards);
        const auto make = [&](const row_piece& threads) {
            return make_row_loop(loop, threads, row.GetInsertBlock(), loop.row_end, guards, {});
        };
        if (body_.warps && !loop.masked && body_.optimizes)
            if_full_warp(row, all, row.getTrue(), make);
        row.CreateBr(make(all));
    }

    row_values values_of_row(const thread_loop& loop, llvm::IRBuilder<>& row, const row_piece& all,
                             llvm::Value* y, llvm::Value* z) {
        row_values values;
        values.x = all.from;
        values.rank = all.rank;
        values.lane = all.lane;
        values.y = y;
        values.z = z;
        values.length = row.CreateSub(all.to, all.from, "", true, true);
        for (unsigned i = 0; i < loop.group_values.size(); i++)
            values.of_group[body_.of_group[i]] = loop.group_values[i];
        return values;
    }

    /// Splits a row where its guards change. Each piece has a loop for the values of its guards.
    void run_pieces(thread_loop& loop, llvm::IRBuilder<>& row, const row_piece& all,
                    const row_values& values, const row_guards& guards) {
        const std::vector<guard_place> places = guards.places(row, values);
        llvm::BasicBlock* const piece = block("piece");
        llvm::BasicBlock* const piece_end = block("piece.end");
        row.CreateBr(piece);
        llvm::IRBuilder<> builder(piece);
        auto* const done = builder.CreatePHI(number_, 2);
        done->addIncoming(constant(0), loop.row);
        llvm::Value* next = values.length;
        llvm::Value* unusual = constant(0); // a bit for each guard with `counts`
        std::vector<unsigned> counting;
        for (unsigned i = 0; i < places.size(); i++) {
            const row_guard& guard = guards.all()[i];
            if (!guard.counts) continue;
            next = places[i].next_change(builder, done, next);
            llvm::Value* const differs = builder.CreateICmpNE(places[i].value_at(builder, done),
                                                              builder.getInt1(guard.usual));
            llvm::Value* const bit = builder.CreateShl(builder.CreateZExt(differs, number_),
                                                       static_cast<unsigned>(counting.size()));
            unusual = builder.CreateOr(unusual, bit);
            counting.push_back(i);
        }
        const row_piece here{builder.CreateAdd(all.from, done, "", true, true),
                             builder.CreateAdd(all.from, next, "", true, true),
                             builder.CreateAdd(all.rank, done, "", true, true),
                             builder.CreateAdd(all.lane, done, "", true, true)};
        choose_loop(loop, builder, here, piece_end, guards, counting, unusual);
        llvm::IRBuilder<> at_end(piece_end);
        done->addIncoming(next, piece_end);
        at_end.CreateCondBr(at_end.CreateICmpULT(next, values.length), piece, loop.row_end);
    }

    /// Branches to the loop for a piece's guards. Bit i of @unusual: guard @counting[i] is unusual.
    void choose_loop(thread_loop& loop, llvm::IRBuilder<>& builder, const row_piece& here,
                     llvm::BasicBlock* then, const row_guards& guards,
                     llvm::ArrayRef<unsigned> counting, llvm::Value* unusual) {
        const auto make = [&](const row_piece& threads, const constant_guards& constants,
                              bool vectorized = true) {
            return make_row_loop(loop, threads, builder.GetInsertBlock(), then, guards, constants,
                                 vectorized);
        };
        constant_guards as_usual;
        for (const row_guard& guard : guards.all())
            as_usual.push_back(guard.usual ? 1 : 0);
        if (body_.warps)
            if_full_warp(builder, here, builder.CreateICmpEQ(unusual, constant(0)),
                         [&](const row_piece& threads) { return make(threads, as_usual); });
        llvm::BasicBlock* const usual_loop = make(here, as_usual);
        if (counting.size() > most_variants) {
            // One loop without vectorization for the rest, because few threads run it.
            builder.CreateCondBr(builder.CreateICmpEQ(unusual, constant(0)), usual_loop,
                                 make(here, {}, false));
            return;
        }
        auto* const which = builder.CreateSwitch(unusual, usual_loop);
        for (std::uint32_t bits = 1; bits < 1U << counting.size(); bits++) {
            constant_guards constants(as_usual.size(), -1);
            for (unsigned i = 0; i < counting.size(); i++)
                constants[counting[i]] = as_usual[counting[i]] ^ static_cast<int>(bits >> i & 1);
            which->addCase(constant(bits), make(here, constants));
        }
    }

    /// If @condition is true and the piece is a whole warp, branches to a loop whose length LLVM
    /// knows. The builder continues with the other case.
    template <class Make>
    void if_full_warp(llvm::IRBuilder<>& builder, const row_piece& threads, llvm::Value* condition,
                      Make make) {
        row_piece whole = threads;
        whole.is_warp = true;
        whole.lane = constant(0);
        llvm::Value* const length = builder.CreateSub(threads.to, threads.from);
        llvm::Value* const is_whole = builder.CreateAnd(
            condition, builder.CreateICmpEQ(length, constant(hmmcuda::warp_size)));
        llvm::BasicBlock* const others = block("part_of_warp");
        builder.CreateCondBr(is_whole, make(whole), others);
        builder.SetInsertPoint(others);
    }

    /// Makes a loop over threads in which guards have the values @constants. Returns its first
    /// block.
    llvm::BasicBlock* make_row_loop(thread_loop& loop, const row_piece& threads,
                                    llvm::BasicBlock* before, llvm::BasicBlock* then,
                                    const row_guards& guards, const constant_guards& constants,
                                    bool vectorized = true) {
        row_loop inner{block("thread"),
                       block("ran"),
                       block("latch"),
                       {},
                       loop.masked || !vectorized ? nullptr
                                                  : llvm::MDNode::getDistinct(context_, {})};
        llvm::BasicBlock* const code = clone_part(loop, inner, guards, constants);
        llvm::IRBuilder<> head(inner.head);
        llvm::IRBuilder<> latch(inner.latch);
        // Separate induction variables show LLVM that none of them wraps.
        const auto counter = [&](llvm::Value* first, llvm::AllocaInst* variable) {
            auto* const phi = head.CreatePHI(number_, 2);
            phi->addIncoming(first, before);
            phi->addIncoming(latch.CreateAdd(phi, constant(1), "", true, true), inner.latch);
            return std::pair(phi, variable);
        };
        const std::array counters{counter(threads.from, body_.thread_index[0]),
                                  counter(threads.rank, body_.rank),
                                  counter(threads.lane, body_.lane)};
        for (const auto& [phi, variable] : counters)
            head.CreateStore(phi, variable);
        llvm::Value* const rank = counters[1].first;
        enter_thread(loop, inner, head, rank, code);
        leave_thread(inner, rank);
        const unsigned counted = threads.is_warp ? 2 : 0;
        llvm::Value* const next = counters[counted].first->getIncomingValueForBlock(inner.latch);
        llvm::Value* const end = threads.is_warp ? constant(hmmcuda::warp_size) : threads.to;
        llvm::Instruction* const again =
            latch.CreateCondBr(latch.CreateICmpULT(next, end), inner.head, then);
        describe_loop_over_threads(*again, inner.accesses);
        return inner.head;
    }

    void enter_thread(thread_loop& loop, row_loop& inner, llvm::IRBuilder<>& builder,
                      llvm::Value* rank, llvm::BasicBlock* part) {
        if (loop.masked) {
            llvm::BasicBlock* const ready = block("ready");
            llvm::Value* const state =
                load(builder, builder.CreateInBoundsGEP(number_, states_, rank));
            builder.CreateCondBr(
                builder.CreateICmpEQ(state, constant(loop.state | hmmcuda::state_ready)), ready,
                inner.latch);
            builder.SetInsertPoint(ready);
        }
        // Each thread starts with the group's old uniform values. The new ones come from the last
        // thread that doesn't end.
        for (unsigned i = 0; i < loop.group_values.size(); i++)
            builder.CreateStore(loop.group_values[i], body_.of_group[i]);
        if (!body_.optimizes) leave_place(body_, builder);
        builder.CreateBr(part);
    }

    void leave_thread(row_loop& inner, llvm::Value* rank) {
        llvm::IRBuilder<> builder(inner.ran);
        if (body_.can_mix) {
            llvm::Value* const state = load(builder, next_);
            auto* const store =
                builder.CreateStore(state, builder.CreateInBoundsGEP(number_, states_, rank));
            if (inner.accesses != nullptr)
                store->setMetadata(llvm::LLVMContext::MD_access_group, inner.accesses);
            builder.CreateStore(builder.CreateOr(load(builder, any_), state), any_);
            builder.CreateStore(builder.CreateAnd(load(builder, all_), state), all_);
        }
        builder.CreateBr(inner.latch);
    }

    /// Does nothing if threads of a group can't diverge: left_ is empty then.
    void copy_group_values(llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::AllocaInst*> from,
                           llvm::ArrayRef<llvm::AllocaInst*> to) {
        for (unsigned i = 0; i < left_.size(); i++)
            builder.CreateStore(builder.CreateLoad(from[i]->getAllocatedType(), from[i]), to[i]);
    }

    /// Sets the state of the group: the common state of its threads, or mixed.
    void end_loop(thread_loop& loop, llvm::BasicBlock* then) {
        llvm::IRBuilder<> builder(loop.after);
        copy_group_values(builder, left_, body_.of_group);
        if (loop.exits.size() == 1) {
            builder.CreateStore(constant(*loop.exits.begin()), current_);
        } else if (!body_.can_mix) {
            builder.CreateStore(load(builder, next_), current_);
        } else {
            llvm::Value* const any = load(builder, any_);
            llvm::Value* const same = builder.CreateICmpEQ(any, load(builder, all_));
            builder.CreateStore(builder.CreateSelect(same, any, constant(hmmcuda::state_mixed)),
                                current_);
        }
        builder.CreateBr(then);
    }

    // ---- regions of the kernel ---------------------------------------------

    llvm::BasicBlock* exit_to(thread_loop& loop, row_loop& inner, std::uint32_t state) {
        llvm::BasicBlock*& found = inner.exits[state];
        if (found == nullptr) {
            loop.exits.insert(state);
            found = block("to" + llvm::Twine(state));
            llvm::IRBuilder<> builder(found);
            builder.CreateStore(constant(state), next_);
            if (state != hmmcuda::state_end) copy_group_values(builder, body_.of_group, left_);
            builder.CreateBr(inner.ran);
        }
        return found;
    }

    llvm::BasicBlock* clone_part(thread_loop& loop, row_loop& inner, const row_guards& guards,
                                 const constant_guards& constants) {
        const block_set& part = guards.part();
        llvm::BasicBlock* const start = start_of(body_, loop.state);
        llvm::ValueToValueMapTy map;
        llvm::SmallVector<llvm::BasicBlock*, 32> clones;
        for (llvm::BasicBlock* const original : part) {
            llvm::BasicBlock* const clone =
                llvm::CloneBasicBlock(original, map, "." + llvm::Twine(loop.state), body_.function);
            map[original] = clone;
            clones.push_back(clone);
        }
        for (std::uint32_t i = 0; i < body_.cuts.size(); i++)
            for (llvm::BasicBlock* const before : llvm::predecessors(body_.cuts[i].block))
                if (part.contains(before)) map[body_.cuts[i].block] = exit_to(loop, inner, i + 2);
        drop_foreign_values(part, map);
        llvm::remapInstructionsInBlocks(clones, map);
        for (llvm::BasicBlock* const clone : clones) {
            if (llvm::isa<llvm::ReturnInst>(clone->getTerminator())) {
                clone->getTerminator()->eraseFromParent();
                llvm::IRBuilder<>(clone).CreateBr(exit_to(loop, inner, hmmcuda::state_end));
            }
            if (inner.accesses != nullptr) accesses_.mark(*clone, *inner.accesses);
        }
        for (unsigned i = 0; i < constants.size(); i++) {
            if (constants[i] < 0) continue;
            llvm::Value* const compare = map[guards.all()[i].compare];
            compare->replaceAllUsesWith(
                llvm::ConstantInt::getBool(compare->getType(), constants[i] == 1));
        }
        return llvm::cast<llvm::BasicBlock>(map[start]);
    }

    /// Drops PHI operands for predecessors outside of this region.
    static void drop_foreign_values(const block_set& part, llvm::ValueToValueMapTy& map) {
        for (llvm::BasicBlock* const original : part)
            for (llvm::PHINode& phi : original->phis()) {
                auto* const clone = llvm::cast<llvm::PHINode>(map[&phi]);
                for (unsigned i = clone->getNumIncomingValues(); i-- > 0;)
                    if (!part.contains(clone->getIncomingBlock(i)))
                        clone->removeIncomingValue(i, false);
            }
    }

    kernel_body& body_;
    llvm::Module& module_;
    llvm::LLVMContext& context_;
    llvm::Type* number_;
    llvm::BasicBlock* end_;

    llvm::AllocaInst *first_ = nullptr, *end_of_group_ = nullptr, *current_ = nullptr,
                     *next_ = nullptr, *any_ = nullptr, *all_ = nullptr, *group_ = nullptr,
                     *any_group_ = nullptr, *all_groups_ = nullptr;
    std::array<llvm::AllocaInst*, 3> first_index_{}; ///< threadIdx of the first thread of a warp
    llvm::Value *states_ = nullptr, *group_states_ = nullptr, *groups_ = nullptr;
    llvm::SmallVector<llvm::Value*, 8> kept_; ///< arrays for body_.of_group, indexed by group
    /// Copies of body_.of_group from threads that don't end; empty if threads can't diverge.
    llvm::SmallVector<llvm::AllocaInst*, 8> left_;
    llvm::BasicBlock *phase_ = nullptr, *group_head_ = nullptr, *dispatch_ = nullptr,
                     *stopped_ = nullptr, *save_ = nullptr, *phase_end_ = nullptr,
                     *resolve_ = nullptr, *exchange_ = nullptr;
    thread_arrays arrays_;
    part_accesses accesses_;
};

} // namespace

void close_kernel(kernel_body& body) {
    closer(body).run();
}

} // namespace hmmcc
