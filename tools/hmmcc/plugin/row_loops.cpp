// SPDX-License-Identifier: MIT
#include "row_loops.hpp"

#include "separate_functions.hpp"

#include <llvm/IR/CFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <array>
#include <map>
#include <utility>

namespace hmmcc {
namespace {

/// Drops PHI operands for predecessors outside of this region.
void drop_foreign_values(const block_set& region, llvm::ValueToValueMapTy& map) {
    for (llvm::BasicBlock* const original : region)
        for (llvm::PHINode& phi : original->phis()) {
            auto* const clone = llvm::cast<llvm::PHINode>(map[&phi]);
            for (unsigned i = clone->getNumIncomingValues(); i-- > 0;)
                if (!region.contains(clone->getIncomingBlock(i)))
                    clone->removeIncomingValue(i, false);
        }
}

} // namespace

struct row_loops::row_loop {
    llvm::BasicBlock* head;                           ///< for each thread
    llvm::BasicBlock* ran;                            ///< for each thread that ran
    llvm::BasicBlock* latch;                          ///< for each thread
    std::map<std::uint32_t, llvm::BasicBlock*> exits; ///< by the state in which a thread leaves
    llvm::MDNode* accesses; ///< group of independent accesses; NULL: not known
};

llvm::BasicBlock* row_loops::make(region_run& run, const row_piece& threads,
                                  llvm::BasicBlock* before, llvm::BasicBlock* then,
                                  const row_guards& guards, const constant_guards& constants,
                                  bool vectorized) {
    row_loop loop{new_basic_block(body_, "thread"),
                  new_basic_block(body_, "ran"),
                  new_basic_block(body_, "latch"),
                  {},
                  run.masked || !vectorized
                      ? nullptr
                      : llvm::MDNode::getDistinct(body_.function->getContext(), {})};
    llvm::BasicBlock* const region = clone_region(run, loop, guards, constants);
    llvm::IRBuilder<> head(loop.head);
    llvm::IRBuilder<> latch(loop.latch);
    // Separate induction variables show LLVM that none of them wraps.
    const auto counter = [&](llvm::Value* first, llvm::AllocaInst* variable) {
        auto* const phi = head.CreatePHI(head.getInt32Ty(), 2);
        phi->addIncoming(first, before);
        phi->addIncoming(latch.CreateAdd(phi, latch.getInt32(1), "", true, true), loop.latch);
        return std::pair(phi, variable);
    };
    const std::array counters{counter(threads.from, body_.thread_index[0]),
                              counter(threads.rank, body_.rank),
                              counter(threads.group_rank, body_.group_rank)};
    for (const auto& [phi, variable] : counters)
        head.CreateStore(phi, variable);
    llvm::Value* const rank = counters[1].first;
    enter_thread(run, loop, head, rank, region);
    leave_thread(loop, rank);
    const unsigned counted = threads.is_warp ? 2 : 0;
    llvm::Value* const next = counters[counted].first->getIncomingValueForBlock(loop.latch);
    llvm::Value* const end = threads.is_warp ? latch.getInt32(hmmcuda::warp_size) : threads.to;
    llvm::Instruction* const again =
        latch.CreateCondBr(latch.CreateICmpULT(next, end), loop.head, then);
    describe_work_item_loop(*again, loop.accesses);
    return loop.head;
}

void row_loops::enter_thread(const region_run& run, row_loop& loop, llvm::IRBuilder<>& builder,
                             llvm::Value* rank, llvm::BasicBlock* region) {
    if (run.masked) {
        llvm::BasicBlock* const ready = new_basic_block(body_, "ready");
        llvm::Value* const state = load_number(
            builder, builder.CreateInBoundsGEP(builder.getInt32Ty(), group_.thread_states, rank));
        builder.CreateCondBr(
            builder.CreateICmpEQ(state, builder.getInt32(run.state | hmmcuda::state_ready)), ready,
            loop.latch);
        builder.SetInsertPoint(ready);
    }
    // Each thread starts with the group's old uniform values. The new ones come from the last
    // thread that doesn't end.
    for (unsigned i = 0; i < run.uniform_values.size(); i++)
        builder.CreateStore(run.uniform_values[i], body_.uniform_variables[i]);
    if (!body_.optimizes) leave_place(body_, builder);
    builder.CreateBr(region);
}

void row_loops::leave_thread(row_loop& loop, llvm::Value* rank) {
    llvm::IRBuilder<> builder(loop.ran);
    if (body_.can_mix) {
        llvm::Value* const state = load_number(builder, group_.next);
        auto* const store = builder.CreateStore(
            state, builder.CreateInBoundsGEP(builder.getInt32Ty(), group_.thread_states, rank));
        if (loop.accesses != nullptr)
            store->setMetadata(llvm::LLVMContext::MD_access_group, loop.accesses);
        builder.CreateStore(builder.CreateOr(load_number(builder, group_.any), state), group_.any);
        builder.CreateStore(builder.CreateAnd(load_number(builder, group_.all), state), group_.all);
    }
    builder.CreateBr(loop.latch);
}

llvm::BasicBlock* row_loops::exit_to(region_run& run, row_loop& loop, std::uint32_t state) {
    llvm::BasicBlock*& found = loop.exits[state];
    if (found == nullptr) {
        run.exits.insert(state);
        found = new_basic_block(body_, "to" + llvm::Twine(state));
        llvm::IRBuilder<> builder(found);
        builder.CreateStore(builder.getInt32(state), group_.next);
        if (state != hmmcuda::state_end) copy_values(builder, body_.uniform_variables, group_.left);
        builder.CreateBr(loop.ran);
    }
    return found;
}

llvm::BasicBlock* row_loops::clone_region(region_run& run, row_loop& loop, const row_guards& guards,
                                          const constant_guards& constants) {
    const block_set& region = guards.region();
    llvm::BasicBlock* const start = start_of(body_, run.state);
    llvm::ValueToValueMapTy map;
    llvm::SmallVector<llvm::BasicBlock*, 32> clones;
    for (llvm::BasicBlock* const original : region) {
        llvm::BasicBlock* const clone =
            llvm::CloneBasicBlock(original, map, "." + llvm::Twine(run.state), body_.function);
        map[original] = clone;
        clones.push_back(clone);
    }
    for (std::uint32_t i = 0; i < body_.sync_points.size(); i++)
        for (llvm::BasicBlock* const before : llvm::predecessors(body_.sync_points[i].block))
            if (region.contains(before))
                map[body_.sync_points[i].block] = exit_to(run, loop, i + 2);
    drop_foreign_values(region, map);
    llvm::remapInstructionsInBlocks(clones, map);
    for (llvm::BasicBlock* const clone : clones) {
        if (llvm::isa<llvm::ReturnInst>(clone->getTerminator())) {
            clone->getTerminator()->eraseFromParent();
            llvm::IRBuilder<>(clone).CreateBr(exit_to(run, loop, hmmcuda::state_end));
        }
        if (loop.accesses != nullptr) accesses_.mark(*clone, *loop.accesses);
    }
    for (unsigned i = 0; i < constants.size(); i++) {
        if (constants[i] < 0) continue;
        llvm::Value* const compare = map[guards.all()[i].compare];
        compare->replaceAllUsesWith(
            llvm::ConstantInt::getBool(compare->getType(), constants[i] == 1));
    }
    return llvm::cast<llvm::BasicBlock>(map[start]);
}

} // namespace hmmcc
