// SPDX-License-Identifier: MIT
#include "row_guards.hpp"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Operator.h>

namespace hmmcc {
namespace {

constexpr int deepest_row_value = 10;          ///< depth of an expression
constexpr std::size_t most_guards = 8;         ///< of a region
constexpr unsigned most_of_split_region = 600; ///< instructions of a region to split

/// How a value changes along a row.
enum class behaviour { unknown, same, grows };

/// Evaluates values of a region before the loop over a row.
class row_evaluator {
  public:
    row_evaluator(const kernel_body& body, const block_set& region, llvm::BasicBlock* start)
        : body_(body), region_(region), start_(start) {}

    /// True if the value is the same for the whole row, and can be computed before the loop.
    bool is_same(const llvm::Value& value, int steps = deepest_row_value) const {
        const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
        if (instruction == nullptr) return true;
        if (!region_.contains(parent(*instruction)))
            return instruction->getParent() == body_.entry &&
                   !llvm::isa<llvm::AllocaInst>(instruction);
        if (steps == 0) return false;
        if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
            if (is_row_variable(*load)) return true;
            const group_load found = load_of_group(*load);
            return found.known && (found.stored == nullptr || is_same(*found.stored, steps - 1));
        }
        if (const auto* const phi = llvm::dyn_cast<llvm::PHINode>(instruction)) {
            const llvm::Value* const only = only_value(*phi);
            return only != nullptr && is_same(*only, steps - 1);
        }
        if (!is_pure(*instruction)) return false;
        return llvm::all_of(instruction->operands(),
                            [&](const llvm::Use& operand) { return is_same(*operand, steps - 1); });
    }

    llvm::Value* value(llvm::IRBuilder<>& builder, llvm::Value& of, const row_values& row) const {
        auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&of);
        if (instruction == nullptr || !region_.contains(parent(*instruction))) return &of;
        if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
            const llvm::Value* const place = load->getPointerOperand();
            if (place == body_.thread_index[1]) return row.y;
            if (place == body_.thread_index[2]) return row.z;
            if (const llvm::Value* const stored = load_of_group(*load).stored)
                return value(builder, *const_cast<llvm::Value*>(stored), row);
            return row.uniform_variables.lookup(llvm::cast<llvm::AllocaInst>(place));
        }
        if (auto* const phi = llvm::dyn_cast<llvm::PHINode>(instruction))
            return value(builder, *only_value(*phi), row);
        llvm::Instruction* const again = instruction->clone();
        for (llvm::Use& operand : again->operands())
            operand.set(value(builder, *operand, row));
        // The flags may only hold for threads that reach the condition.
        again->dropPoisonGeneratingFlags();
        builder.Insert(again);
        return again;
    }

    /// How an integer changes along the row when extended to 64 bits. A sum must not wrap to grow.
    behaviour of_number(const llvm::Value& number, bool is_signed,
                        int steps = deepest_row_value) const {
        if (is_same(number)) return behaviour::same;
        const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&number);
        if (instruction == nullptr || steps == 0 || !region_.contains(parent(*instruction)))
            return behaviour::unknown;
        if (thread_variable(*instruction) != nullptr) return behaviour::grows;
        if (llvm::isa<llvm::CastInst>(instruction)) {
            const bool inner = inner_is_signed(*instruction, is_signed);
            if (!can_extend(*instruction, is_signed)) return behaviour::unknown;
            return of_number(*instruction->getOperand(0), inner, steps - 1);
        }
        if (const auto* const phi = llvm::dyn_cast<llvm::PHINode>(instruction)) {
            const llvm::Value* const only = only_value(*phi);
            return only == nullptr ? behaviour::unknown : of_number(*only, is_signed, steps - 1);
        }
        const bool sum = instruction->getOpcode() == llvm::Instruction::Add;
        // The first thread of a row may not reach the condition, and its difference may be below 0.
        if (!sum && (instruction->getOpcode() != llvm::Instruction::Sub || !is_signed))
            return behaviour::unknown;
        if (is_signed ? !instruction->hasNoSignedWrap() : !instruction->hasNoUnsignedWrap())
            return behaviour::unknown;
        const behaviour first = of_number(*instruction->getOperand(0), is_signed, steps - 1);
        const behaviour second = of_number(*instruction->getOperand(1), is_signed, steps - 1);
        if (first == behaviour::grows && second == behaviour::same) return behaviour::grows;
        if (sum && first == behaviour::same && second == behaviour::grows) return behaviour::grows;
        return behaviour::unknown;
    }

    /// The value of an integer in the row's first thread, extended to 64 bits.
    llvm::Value* number(llvm::IRBuilder<>& builder, llvm::Value& of, bool is_signed,
                        const row_values& row) const {
        if (is_same(of)) {
            llvm::Value* const narrow = value(builder, of, row);
            return builder.CreateIntCast(narrow, builder.getInt64Ty(), is_signed);
        }
        auto* const instruction = llvm::cast<llvm::Instruction>(&of);
        if (const llvm::Value* const variable = thread_variable(*instruction))
            return builder.CreateZExt(variable == body_.thread_index[0] ? row.x
                                      : variable == body_.rank          ? row.rank
                                                                        : row.group_rank,
                                      builder.getInt64Ty());
        if (llvm::isa<llvm::CastInst>(instruction))
            return number(builder, *instruction->getOperand(0),
                          inner_is_signed(*instruction, is_signed), row);
        if (auto* const phi = llvm::dyn_cast<llvm::PHINode>(instruction))
            return number(builder, *only_value(*phi), is_signed, row);
        llvm::Value* const first = number(builder, *instruction->getOperand(0), is_signed, row);
        llvm::Value* const second = number(builder, *instruction->getOperand(1), is_signed, row);
        return instruction->getOpcode() == llvm::Instruction::Add
                   ? builder.CreateAdd(first, second)
                   : builder.CreateSub(first, second);
    }

  private:
    static llvm::BasicBlock* parent(const llvm::Instruction& instruction) {
        return const_cast<llvm::BasicBlock*>(instruction.getParent());
    }
    static bool is_pure(const llvm::Instruction& instruction) {
        if (const auto* const operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
            const auto* const by = llvm::dyn_cast<llvm::ConstantInt>(operation->getOperand(1));
            if (operation->getType()->isFPOrFPVectorTy()) return false;
            return !operation->isIntDivRem() ||
                   (by != nullptr && !by->isZero() && !by->isMinusOne());
        }
        return llvm::isa<llvm::CastInst, llvm::CmpInst, llvm::SelectInst>(instruction);
    }
    bool is_row_variable(const llvm::LoadInst& load) const {
        return load.getPointerOperand() == body_.thread_index[1] ||
               load.getPointerOperand() == body_.thread_index[2];
    }
    /// What a load of a uniform variable returns: the value that this region has stored, or else
    /// the group's current value.
    struct group_load {
        bool known = false;
        const llvm::Value* stored = nullptr; ///< NULL: the group's value
    };
    group_load load_of_group(const llvm::LoadInst& load) const {
        const auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(load.getPointerOperand());
        if (variable == nullptr || !llvm::is_contained(body_.uniform_variables, variable))
            return {};
        if (!is_stored(*variable)) return {true, nullptr};
        const llvm::Instruction* at = &load;
        for (llvm::BasicBlock* block = parent(load); block != nullptr;) {
            for (at = at->getPrevNode(); at != nullptr; at = at->getPrevNode()) {
                const auto* const store = llvm::dyn_cast<llvm::StoreInst>(at);
                if (store != nullptr && store->getPointerOperand() == variable)
                    return {true, store->getValueOperand()};
            }
            if (block == start_) return {!comes_again_to_start(), nullptr};
            block = only_block_before(block);
            if (block == parent(load)) return {};
            if (block != nullptr) at = block->getTerminator();
        }
        return {};
    }
    bool is_stored(const llvm::AllocaInst& variable) const {
        return llvm::any_of(variable.users(), [&](const llvm::User* user) {
            const auto* const store = llvm::dyn_cast<llvm::StoreInst>(user);
            return store != nullptr && region_.contains(parent(*store));
        });
    }
    llvm::BasicBlock* only_block_before(llvm::BasicBlock* block) const {
        llvm::BasicBlock* only = nullptr;
        for (llvm::BasicBlock* const before : llvm::predecessors(block)) {
            if (!region_.contains(before)) continue;
            if (only != nullptr && only != before) return nullptr;
            only = before;
        }
        return only;
    }
    bool comes_again_to_start() const {
        return llvm::any_of(llvm::predecessors(start_),
                            [&](auto* before) { return region_.contains(before); });
    }
    /// The only incoming value of a PHI from within this region; NULL if there are several.
    llvm::Value* only_value(const llvm::PHINode& phi) const {
        llvm::Value* only = nullptr;
        for (unsigned i = 0; i < phi.getNumIncomingValues(); i++) {
            if (!region_.contains(phi.getIncomingBlock(i))) continue;
            if (only != nullptr) return nullptr;
            only = phi.getIncomingValue(i);
        }
        return only;
    }
    const llvm::Value* thread_variable(const llvm::Instruction& instruction) const {
        const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
        if (load == nullptr) return nullptr;
        const llvm::Value* const place = load->getPointerOperand();
        const bool known =
            place == body_.thread_index[0] || place == body_.rank || place == body_.group_rank;
        return known ? place : nullptr;
    }
    /// True for blockIdx.x * blockDim.x + threadIdx.x, which is below 2^31.
    bool is_thread_number(const llvm::Value& value) const {
        const auto* const sum = llvm::dyn_cast<llvm::BinaryOperator>(&value);
        if (sum == nullptr || sum->getOpcode() != llvm::Instruction::Add) return false;
        for (const unsigned i : {0U, 1U}) {
            const auto* const index = llvm::dyn_cast<llvm::Instruction>(sum->getOperand(i));
            const auto* const product =
                llvm::dyn_cast<llvm::BinaryOperator>(sum->getOperand(1 - i));
            if (index == nullptr || thread_variable(*index) != body_.thread_index[0] ||
                product == nullptr || product->getOpcode() != llvm::Instruction::Mul)
                continue;
            const llvm::Value* const index_of_block = body_.block_index[0];
            const llvm::Value* const size = body_.block_size[0];
            const llvm::Value* const left = product->getOperand(0);
            const llvm::Value* const right = product->getOperand(1);
            if ((left == index_of_block && right == size) ||
                (left == size && right == index_of_block))
                return true;
        }
        return false;
    }
    static bool inner_is_signed(const llvm::Instruction& cast, bool is_signed) {
        return is_signed && llvm::isa<llvm::SExtInst>(cast);
    }
    bool can_extend(const llvm::Instruction& cast, bool is_signed) const {
        if (llvm::isa<llvm::ZExtInst>(cast)) return true;
        return llvm::isa<llvm::SExtInst>(cast) &&
               (is_signed || is_thread_number(*cast.getOperand(0)));
    }

    const kernel_body& body_;
    const block_set& region_;
    llvm::BasicBlock* start_;
};

/// Finds the guards and guesses their usual values.
struct guard_finder {
    const kernel_body& body;
    row_evaluator evaluator;

    /// True if the condition decides a branch. A select needs no guard, because it vectorizes.
    static bool decides_a_branch(const llvm::Value& truth, int steps = 4) {
        return llvm::any_of(truth.users(), [&](const llvm::User* user) {
            if (llvm::isa<llvm::BranchInst>(user)) return true;
            return steps > 0 && user->getType()->isIntegerTy(1) &&
                   decides_a_branch(*user, steps - 1);
        });
    }

    bool describe(llvm::ICmpInst& compare, row_guard& guard) const {
        if (!decides_a_branch(compare) || !compare.getOperand(0)->getType()->isIntegerTy() ||
            compare.getOperand(0)->getType()->getIntegerBitWidth() > 64)
            return false;
        guard.compare = &compare;
        guard.same_in_row = evaluator.is_same(compare);
        if (guard.same_in_row) return true;
        const bool is_signed = compare.isSigned();
        for (const unsigned side : {0U, 1U}) {
            if (evaluator.of_number(*compare.getOperand(side), is_signed) != behaviour::grows ||
                !evaluator.is_same(*compare.getOperand(1 - side)))
                continue;
            guard.thread_side = side;
            return true;
        }
        return false;
    }

    /// True if there is nothing to do from @block to the end or the next synchronization point.
    bool leads_out(const llvm::BasicBlock* block) const {
        for (int steps = 0; steps < 4; steps++) {
            if (body.sync_blocks.contains(block)) return true;
            if (block->size() != 1) return false;
            if (llvm::isa<llvm::ReturnInst>(block->getTerminator())) return true;
            block = block->getSingleSuccessor();
            if (block == nullptr) return false;
        }
        return false;
    }

    /// The usual value, 0 or 1, according to the value's uses, or -1 if they don't show it.
    int usual_by_uses(const llvm::Value& value, int steps = 4) const {
        for (const llvm::User* const user : value.users()) {
            int found = -1;
            if (const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(user)) {
                if (!branch->isConditional()) continue;
                if (leads_out(branch->getSuccessor(0))) found = 0;
                if (leads_out(branch->getSuccessor(1))) found = 1;
            } else if (steps > 0) {
                found = usual_of_operand(*user, steps - 1);
            }
            if (found >= 0) return found;
        }
        return -1;
    }
    /// The usual value of operands of a Boolean operation, or -1.
    int usual_of_operand(const llvm::User& user, int steps) const {
        const auto* const operation = llvm::dyn_cast<llvm::Instruction>(&user);
        if (operation == nullptr || !operation->getType()->isIntegerTy(1)) return -1;
        const int usual = usual_by_uses(user, steps);
        if (usual < 0) return -1;
        const bool select = llvm::isa<llvm::SelectInst>(operation);
        const auto is = [&](unsigned i, bool truth) {
            const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(operation->getOperand(i));
            return number != nullptr && number->isOne() == truth;
        };
        if (operation->getOpcode() == llvm::Instruction::And || (select && is(2, false)))
            return usual == 1 ? 1 : -1;
        if (operation->getOpcode() == llvm::Instruction::Or || (select && is(1, true)))
            return usual == 0 ? 0 : -1;
        if (operation->getOpcode() == llvm::Instruction::Xor && is(1, true)) return 1 - usual;
        return -1;
    }
    bool usual(const llvm::ICmpInst& compare) const {
        if (compare.getPredicate() == llvm::CmpInst::ICMP_EQ) return false;
        if (compare.getPredicate() == llvm::CmpInst::ICMP_NE) return true;
        return usual_by_uses(compare) != 0;
    }
};

} // namespace

llvm::Value* guard_place::next_change(llvm::IRBuilder<>& builder, llvm::Value* done,
                                      llvm::Value* next) const {
    if (same != nullptr) return next;
    for (llvm::Value* const change : {low, high}) {
        llvm::Value* const is_next = builder.CreateAnd(builder.CreateICmpUGT(change, done),
                                                       builder.CreateICmpULT(change, next));
        next = builder.CreateSelect(is_next, change, next);
    }
    return next;
}

llvm::Value* guard_place::value_at(llvm::IRBuilder<>& builder, llvm::Value* done) const {
    if (same != nullptr) return same;
    llvm::Value* const is_inside =
        builder.CreateAnd(builder.CreateICmpUGE(done, low), builder.CreateICmpULT(done, high));
    return inside ? is_inside : builder.CreateNot(is_inside);
}

row_guards::row_guards(const kernel_body& body, const block_set& region, llvm::BasicBlock* start)
    : body_(body), region_(region), start_(start) {
    unsigned instructions = 0;
    for (const llvm::BasicBlock* const block : region)
        instructions += static_cast<unsigned>(block->size());
    if (instructions > most_of_split_region) return;
    const guard_finder find{body, row_evaluator(body, region, start)};
    for (llvm::BasicBlock* const block : region)
        for (llvm::Instruction& instruction : *block) {
            auto* const compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction);
            row_guard guard;
            if (compare == nullptr || guards_.size() == most_guards ||
                !find.describe(*compare, guard))
                continue;
            guard.usual = find.usual(*compare);
            guards_.push_back(guard);
        }
    find_those_that_count();
}

/// Evaluates a condition with the guards' usual values: 0, 1, or -1 if that isn't enough.
int row_guards::usual_truth(const llvm::Value& condition, int steps) const {
    for (const row_guard& guard : guards_)
        if (guard.compare == &condition) return guard.usual ? 1 : 0;
    if (const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(&condition))
        return number->isOne() ? 1 : 0;
    const auto* const operation = llvm::dyn_cast<llvm::Instruction>(&condition);
    if (operation == nullptr || steps == 0) return -1;
    const auto of = [&](unsigned i) { return usual_truth(*operation->getOperand(i), steps - 1); };
    if (operation->getOpcode() == llvm::Instruction::And) {
        if (of(0) == 0 || of(1) == 0) return 0;
        return of(0) == 1 && of(1) == 1 ? 1 : -1;
    }
    if (operation->getOpcode() == llvm::Instruction::Or) {
        if (of(0) == 1 || of(1) == 1) return 1;
        return of(0) == 0 && of(1) == 0 ? 0 : -1;
    }
    if (llvm::isa<llvm::SelectInst>(operation)) {
        const int which = of(0);
        return which < 0 ? -1 : of(which == 1 ? 1 : 2);
    }
    return -1;
}

void row_guards::find_those_that_count() {
    block_set reached;
    llvm::SmallVector<llvm::BasicBlock*, 16> open{start_};
    while (!open.empty()) {
        llvm::BasicBlock* const block = open.pop_back_val();
        if (!region_.contains(block) || !reached.insert(block)) continue;
        const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
        const int truth = branch != nullptr && branch->isConditional()
                              ? usual_truth(*branch->getCondition(), 4)
                              : -1;
        if (truth < 0)
            open.append(llvm::succ_begin(block), llvm::succ_end(block));
        else
            open.push_back(branch->getSuccessor(truth == 1 ? 0 : 1));
    }
    for (row_guard& guard : guards_)
        guard.counts = reached.contains(guard.compare->getParent());
}

/// Computes where a guard that compares a varying number changes.
struct row_guards::placer {
    llvm::IRBuilder<>& builder;
    llvm::Value* length; ///< of the row

    llvm::Value* shortest(llvm::Value* a, llvm::Value* b) const {
        return builder.CreateSelect(builder.CreateICmpULT(a, b), a, b);
    }
    llvm::Value* narrow(llvm::Value* condition, llvm::Value* distance) const {
        return builder.CreateTrunc(builder.CreateSelect(condition, distance, builder.getInt64(0)),
                                   builder.getInt32Ty());
    }

    /// @number is the first thread's; it grows by one for each following thread.
    guard_place place(llvm::CmpInst::Predicate predicate, llvm::Value* number,
                      llvm::Value* bound) const {
        using llvm::CmpInst;
        const bool is_signed = CmpInst::isSigned(predicate);
        llvm::Value* const distance = shortest(builder.CreateSub(bound, number), length);
        llvm::Value* const to_bound = narrow(
            builder.CreateICmp(is_signed ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT, number, bound),
            distance);
        llvm::Value* const behind_bound = narrow(
            builder.CreateICmp(is_signed ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE, number, bound),
            shortest(builder.CreateAdd(distance, builder.getInt64(1)), length));
        llvm::Value* const first = builder.getInt32(0);
        switch (predicate) {
        case CmpInst::ICMP_SLT:
        case CmpInst::ICMP_ULT:
            return {first, to_bound, true, nullptr};
        case CmpInst::ICMP_SGE:
        case CmpInst::ICMP_UGE:
            return {first, to_bound, false, nullptr};
        case CmpInst::ICMP_SLE:
        case CmpInst::ICMP_ULE:
            return {first, behind_bound, true, nullptr};
        case CmpInst::ICMP_EQ:
            return {to_bound, behind_bound, true, nullptr};
        case CmpInst::ICMP_NE:
            return {to_bound, behind_bound, false, nullptr};
        default:
            return {first, behind_bound, false, nullptr};
        }
    }
};

std::vector<guard_place> row_guards::places(llvm::IRBuilder<>& builder,
                                            const row_values& row) const {
    const row_evaluator evaluator(body_, region_, start_);
    const placer place_of{builder, builder.CreateZExt(row.length, builder.getInt64Ty())};
    std::vector<guard_place> found;
    for (const row_guard& guard : guards_) {
        llvm::ICmpInst& compare = *guard.compare;
        if (guard.same_in_row) {
            llvm::Value* const value = evaluator.value(builder, compare, row);
            found.push_back({nullptr, nullptr, false, builder.CreateFreeze(value)});
            continue;
        }
        // In threads that don't reach the condition, the operands may be poison.
        const auto number = [&](unsigned side) {
            return builder.CreateFreeze(
                evaluator.number(builder, *compare.getOperand(side), compare.isSigned(), row));
        };
        const auto predicate =
            guard.thread_side == 0 ? compare.getPredicate() : compare.getSwappedPredicate();
        found.push_back(
            place_of.place(predicate, number(guard.thread_side), number(1 - guard.thread_side)));
    }
    return found;
}

} // namespace hmmcc
