// SPDX-License-Identifier: MIT
#include "thread_values.hpp"

#include <llvm/ADT/STLExtras.h>

namespace hmmcc {
namespace {

constexpr int deepest_thread_value = 12; ///< depth of an expression

using value_set = llvm::DenseSet<const llvm::Value*>;

bool follows(const kernel_body& body, const llvm::Value& value, int steps) {
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (instruction == nullptr || steps == 0) return false;
    if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(instruction))
        return body.is_loop_variable(load->getPointerOperand());
    if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst>(instruction)) return false;
    return llvm::any_of(instruction->operands(), [&](const llvm::Use& operand) {
        return follows(body, *operand, steps - 1);
    });
}

bool of_launch(const kernel_body& body, const llvm::Value& value, int steps) {
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (instruction == nullptr || instruction->getParent() == body.entry) return true;
    if (steps == 0 || !llvm::isa<llvm::BinaryOperator, llvm::CastInst>(instruction)) return false;
    return llvm::all_of(instruction->operands(), [&](const llvm::Use& operand) {
        return of_launch(body, *operand, steps - 1);
    });
}

along_row sum_of(along_row a, along_row b) {
    if (a == along_row::same) return b;
    return b == along_row::same ? a : along_row::scattered;
}

along_row find(const kernel_body& body, const llvm::Value& value, const value_set& uniform,
               int steps) {
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    if (instruction == nullptr || instruction->getParent() == body.entry ||
        uniform.contains(&value))
        return along_row::same;
    if (steps == 0) return along_row::scattered;
    const auto of = [&](const llvm::Value& operand) {
        return find(body, operand, uniform, steps - 1);
    };
    if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
        const llvm::Value* const place = load->getPointerOperand();
        if (place == body.thread_index[1] || place == body.thread_index[2]) return along_row::same;
        if (body.is_loop_variable(place)) return along_row::next;
        return of(*place) == along_row::same && !llvm::isa<llvm::AllocaInst>(place)
                   ? along_row::same
                   : along_row::scattered;
    }
    if (llvm::isa<llvm::CastInst>(instruction)) return of(*instruction->getOperand(0));
    if (const auto* const address = llvm::dyn_cast<llvm::GetElementPtrInst>(instruction)) {
        along_row all = of(*address->getPointerOperand());
        for (unsigned i = 1; i < address->getNumOperands(); i++) {
            const along_row index = of(*address->getOperand(i));
            const bool last = i + 1 == address->getNumOperands();
            all = sum_of(all, index == along_row::next && !last ? along_row::scattered : index);
        }
        return all;
    }
    if (!llvm::isa<llvm::BinaryOperator, llvm::CmpInst, llvm::SelectInst>(instruction))
        return along_row::scattered;
    llvm::SmallVector<along_row, 3> operands;
    for (const llvm::Use& operand : instruction->operands())
        operands.push_back(of(*operand));
    if (llvm::all_of(operands, [](along_row each) { return each == along_row::same; }))
        return along_row::same;
    if (instruction->getOpcode() == llvm::Instruction::Add ||
        instruction->getOpcode() == llvm::Instruction::Or)
        return sum_of(operands[0], operands[1]);
    if (instruction->getOpcode() == llvm::Instruction::Sub && operands[1] == along_row::same)
        return operands[0];
    return along_row::scattered;
}

} // namespace

bool follows_thread(const kernel_body& body, const llvm::Value& value) {
    return follows(body, value, deepest_thread_value);
}

bool is_of_launch(const kernel_body& body, const llvm::Value& value) {
    return of_launch(body, value, deepest_thread_value);
}

along_row value_along_row(const kernel_body& body, const llvm::Value& value,
                          const value_set& uniform) {
    return find(body, value, uniform, deepest_thread_value);
}

} // namespace hmmcc
