// SPDX-License-Identifier: MIT
#include "shared_variables.hpp"

#include "separate_functions.hpp"

#include <llvm/IR/Constants.h>

namespace hmmcc {
namespace {

llvm::Instruction* place_before(llvm::Instruction& user, const llvm::Value& used) {
    auto* const phi = llvm::dyn_cast<llvm::PHINode>(&user);
    if (phi == nullptr) return &user;
    // an operand of a PHI: use the entry, which dominates all incoming blocks
    for (unsigned i = 0; i < phi->getNumIncomingValues(); i++)
        if (phi->getIncomingValue(i) == &used)
            return phi->getFunction()->getEntryBlock().getTerminator();
    return &user;
}

/// Expands one constant expression that contains @constant and is used by an instruction. Returns
/// false if there is none.
bool expand_once(llvm::Constant& constant) {
    for (llvm::User* const user : constant.users()) {
        auto* const expression = llvm::dyn_cast<llvm::ConstantExpr>(user);
        if (expression == nullptr) continue;
        for (llvm::User* const outer : expression->users()) {
            auto* const instruction = llvm::dyn_cast<llvm::Instruction>(outer);
            if (instruction == nullptr) continue;
            llvm::Instruction* const made = expression->getAsInstruction();
            made->insertBefore(place_before(*instruction, *expression)->getIterator());
            instruction->replaceUsesOfWith(expression, made);
            return true;
        }
        if (expand_once(*expression)) return true;
    }
    return false;
}

bool is_used_in(const llvm::GlobalVariable& variable, const llvm::Function& function) {
    for (const llvm::User* const user : variable.users())
        if (const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(user))
            if (instruction->getFunction() == &function) return true;
    return false;
}

void replace_uses_in(llvm::GlobalVariable& variable, const kernel_body& body, llvm::Value* offset) {
    llvm::IRBuilder<> builder(body.entry->getTerminator());
    llvm::Value* const place = builder.CreateInBoundsGEP(builder.getInt8Ty(), body.shared, offset);
    llvm::SmallVector<llvm::Use*, 16> uses;
    for (llvm::Use& use : variable.uses())
        if (auto* const instruction = llvm::dyn_cast<llvm::Instruction>(use.getUser()))
            if (instruction->getFunction() == body.function) uses.push_back(&use);
    for (llvm::Use* const use : uses)
        use->set(place);
}

} // namespace

bool has_open_length(const llvm::GlobalVariable& variable) {
    const auto* const array = llvm::dyn_cast<llvm::ArrayType>(variable.getValueType());
    return variable.isDeclaration() && array != nullptr && array->getNumElements() == 0;
}

bool check_shared_alignment(const llvm::Instruction& where, llvm::Align alignment) {
    if (alignment.value() <= hmmcuda::memory_alignment) return true;
    report_error(where, "hmmcc does not support __shared__ variables with an alignment above " +
                            llvm::Twine(hmmcuda::memory_alignment));
    return false;
}

bool is_shared_variable(const llvm::GlobalVariable& variable) {
    if (variable.getName().starts_with("llvm.")) return false;
    if (has_open_length(variable)) return true;
    return variable.hasInitializer() && llvm::isa<llvm::UndefValue>(variable.getInitializer());
}

void expand_constants(llvm::GlobalVariable& variable) {
    while (expand_once(variable)) {
    }
}

bool place_shared_variables(kernel_body& body, const separate_functions& separate) {
    llvm::Module& module = *body.function->getParent();
    const llvm::DataLayout& layout = module.getDataLayout();
    llvm::IRBuilder<> builder(body.entry->getTerminator());
    llvm::SmallVector<llvm::GlobalVariable*, 4> open;
    body.shares_with_separate =
        body.shares_with_separate ||
        llvm::any_of(module.globals(), [&](const llvm::GlobalVariable& variable) {
            return separate.shared_offset(variable) != nullptr &&
                   is_used_in(variable, *body.function);
        });
    std::uint64_t bytes = body.shares_with_separate ? separate.shared_bytes() : 0;
    for (llvm::GlobalVariable& variable : module.globals()) {
        if (!is_shared_variable(variable) || !is_used_in(variable, *body.function)) continue;
        if (has_open_length(variable)) {
            open.push_back(&variable);
            continue;
        }
        if (const std::uint64_t* const place = separate.shared_offset(variable)) {
            replace_uses_in(variable, body, builder.getInt64(*place));
            continue;
        }
        const llvm::Align alignment = layout.getPreferredAlign(&variable);
        if (!check_shared_alignment(*body.entry->getTerminator(), alignment)) return false;
        bytes = llvm::alignTo(bytes, alignment);
        replace_uses_in(variable, body, builder.getInt64(bytes));
        bytes += layout.getTypeAllocSize(variable.getValueType());
    }
    bytes = llvm::alignTo(bytes, hmmcuda::memory_alignment);
    if (bytes > hmmcuda::most_static_shared) {
        report_error(*body.entry->getTerminator(),
                     "the kernel has " + llvm::Twine(bytes) +
                         " bytes of __shared__ variables; the limit is " +
                         llvm::Twine(hmmcuda::most_static_shared));
        return false;
    }
    body.static_shared = static_cast<std::uint32_t>(bytes);
    for (llvm::GlobalVariable* const variable : open)
        replace_uses_in(*variable, body, builder.getInt64(bytes));
    return true;
}

} // namespace hmmcc
