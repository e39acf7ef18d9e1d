// SPDX-License-Identifier: MIT
#include "uniformity.hpp"

#include "names.hpp"

#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/CFG.h>
#include <llvm/Support/CFGDiff.h>
#include <llvm/Support/GenericDomTreeConstruction.h>

namespace hmmcc {
namespace {

/// The basic blocks from which a synchronization point can be reached, and where paths reconverge.
class sync_graph {
  public:
    explicit sync_graph(const kernel_body& body) : postdominators_(*body.function) {
        llvm::SmallVector<llvm::BasicBlock*, 32> open;
        for (const sync_point& point : body.sync_points)
            open.push_back(point.block);
        while (!open.empty()) {
            llvm::BasicBlock* const block = open.pop_back_val();
            if (block == body.entry || !blocks_.insert(block)) continue;
            open.append(llvm::pred_begin(block), llvm::pred_end(block));
        }
        find_exits();
        find_postdominators();
    }

    const block_set& blocks() const { return blocks_; }
    bool has(llvm::BasicBlock* block) const { return blocks_.contains(block); }

    /// The immediate postdominator of @block in this graph; NULL if there is none.
    llvm::BasicBlock* reconvergence(llvm::BasicBlock* block) const {
        return postdominators_.getNode(block)->getIDom()->getBlock();
    }

  private:
    bool stays(llvm::BasicBlock* block) const {
        return llvm::any_of(llvm::successors(block), [&](auto* next) { return has(next); });
    }
    /// The basic blocks that can reach an exit.
    block_set blocks_with_exit() const {
        block_set found;
        llvm::SmallVector<llvm::BasicBlock*, 32> open(exits_.begin(), exits_.end());
        while (!open.empty()) {
            llvm::BasicBlock* const block = open.pop_back_val();
            if (!has(block) || !found.insert(block)) continue;
            open.append(llvm::pred_begin(block), llvm::pred_end(block));
        }
        return found;
    }
    /// Exits are basic blocks without a successor in the graph. A loop with a synchronization point
    /// may have no path to one. Then its exits are where threads leave the graph from it.
    void find_exits() {
        for (llvm::BasicBlock* const block : blocks_)
            if (!stays(block)) exits_.insert(block);
        const block_set reached = blocks_with_exit();
        for (llvm::BasicBlock* const block : blocks_) {
            const bool leaves =
                llvm::any_of(llvm::successors(block), [&](auto* next) { return !has(next); });
            if (leaves && !reached.contains(block)) exits_.insert(block);
        }
    }

    /// Computes the postdominators of the function without edges that leave the graph or an exit.
    /// In a loop without exits, LLVM chooses one.
    void find_postdominators() {
        llvm::SmallVector<llvm::cfg::Update<llvm::BasicBlock*>, 16> removed;
        for (llvm::BasicBlock* const block : blocks_)
            for (llvm::BasicBlock* const next :
                 block_set(llvm::succ_begin(block), llvm::succ_end(block)))
                if (!has(next) || exits_.contains(block))
                    removed.push_back({llvm::cfg::UpdateKind::Delete, block, next});
        llvm::GraphDiff<llvm::BasicBlock*, true> view(removed);
        using calculation =
            llvm::DomTreeBuilder::SemiNCAInfo<llvm::PostDomTreeBase<llvm::BasicBlock>>;
        calculation::BatchUpdateInfo updates(view, &view);
        calculation::CalculateFromScratch(postdominators_, &updates);
    }

    block_set blocks_;
    block_set exits_;
    llvm::PostDominatorTree postdominators_;
};

class search {
  public:
    explicit search(const kernel_body& body) : body_(body), graph_(body) {}

    uniformity run() {
        for (bool changed = true; changed;) {
            changed = false;
            for (llvm::BasicBlock* const block : graph_.blocks())
                for (llvm::Instruction& instruction : *block)
                    changed |= visit(*block, instruction);
        }
        for (const sync_point& point : body_.sync_points)
            if (divergent_.contains(point.block)) result_.syncs_diverge = true;
        return std::move(result_);
    }

  private:
    /// Returns true if this marks the instruction as varying.
    bool visit(llvm::BasicBlock& block, llvm::Instruction& instruction) {
        if (result_.varies(instruction)) return false;
        if (!divergent_.contains(&block) && !is_varying(instruction)) return false;
        result_.varying.insert(&instruction);
        if (instruction.isTerminator()) follow(block);
        return true;
    }

    bool is_varying(const llvm::Instruction& instruction) const {
        if (llvm::isa<llvm::AllocaInst>(instruction)) return true;
        if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
            const llvm::Value* const place = load->getPointerOperand();
            if (load->isAtomic() || load->isVolatile()) return true;
            // A load hoisted above its branch races with threads that don't take the branch.
            if (!llvm::isa<llvm::AllocaInst>(place) && load->getMetadata(source_load) == nullptr)
                return true;
            return body_.is_loop_variable(place) || is_variable_of_thread(place) ||
                   result_.varies(*place);
        }
        if (const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction))
            if (!call->doesNotAccessMemory()) return true;
        if (instruction.isAtomic()) return true;
        for (const llvm::Value* const operand : instruction.operands())
            if (result_.varies(*operand) || is_variable_of_thread(operand)) return true;
        return false;
    }

    /// Allocas are in the entry, which we don't visit.
    bool is_variable_of_thread(const llvm::Value* value) const {
        const auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(value);
        return variable != nullptr && llvm::is_contained(body_.context_variables, variable);
    }

    /// Threads diverge here: marks the basic blocks up to the reconvergence point.
    void follow(llvm::BasicBlock& block) {
        llvm::SmallVector<llvm::BasicBlock*, 16> open;
        for (llvm::BasicBlock* const next : llvm::successors(&block)) {
            if (graph_.has(next))
                open.push_back(next);
            else
                result_.ends_diverge = true;
        }
        if (llvm::succ_size(&block) < 2 || open.size() < 2) return;
        llvm::BasicBlock* const reconvergence = graph_.reconvergence(&block);
        block_set seen; // not divergent_, which may have some of these blocks from another branch
        while (!open.empty()) {
            llvm::BasicBlock* const next = open.pop_back_val();
            if (next == reconvergence || !seen.insert(next)) continue;
            divergent_.insert(next);
            for (llvm::BasicBlock* const after : llvm::successors(next))
                if (graph_.has(after)) open.push_back(after);
        }
        if (reconvergence == nullptr) return;
        for (llvm::PHINode& phi : reconvergence->phis())
            if (depends_on_way(phi, block, seen)) result_.varying.insert(&phi);
    }

    /// True if paths from @block through @between bring different values to the PHI.
    static bool depends_on_way(const llvm::PHINode& phi, llvm::BasicBlock& block,
                               const block_set& between) {
        const llvm::Value* given = nullptr;
        for (unsigned i = 0; i < phi.getNumIncomingValues(); i++) {
            llvm::BasicBlock* const from = phi.getIncomingBlock(i);
            if (from != &block && !between.contains(from)) continue;
            if (given != nullptr && given != phi.getIncomingValue(i)) return true;
            given = phi.getIncomingValue(i);
        }
        return false;
    }

    const kernel_body& body_;
    sync_graph graph_;
    block_set divergent_; ///< divergent basic blocks
    uniformity result_;
};

} // namespace

uniformity find_uniformity(const kernel_body& body) {
    return search(body).run();
}

} // namespace hmmcc
