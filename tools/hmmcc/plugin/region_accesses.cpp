// SPDX-License-Identifier: MIT
#include "region_accesses.hpp"

#include "names.hpp"

#include <llvm/Analysis/ValueTracking.h>

namespace hmmcc {
namespace {

/// True if the address is used for anything but loads and stores.
bool escapes(const llvm::Value& address) {
    return llvm::any_of(address.users(), [&](const llvm::User* user) {
        if (llvm::isa<llvm::LoadInst>(user)) return false;
        if (const auto* const store = llvm::dyn_cast<llvm::StoreInst>(user))
            return store->getValueOperand() == &address;
        return !llvm::isa<llvm::GetElementPtrInst>(user) || escapes(*user);
    });
}

} // namespace

void region_accesses::mark(llvm::BasicBlock& block, llvm::MDNode& group) {
    for (llvm::Instruction& instruction : block)
        if (instruction.mayReadOrWriteMemory() && !instruction.isAtomic() &&
            !instruction.isVolatile() && !may_use_variable(instruction) &&
            instruction.getMetadata(of_other_threads) == nullptr)
            instruction.setMetadata(llvm::LLVMContext::MD_access_group, &group);
}

/// All threads use the same variables of the function, so accesses to these depend on each other.
bool region_accesses::may_use_variable(const llvm::Instruction& instruction) {
    const llvm::Value* const place = llvm::getLoadStorePointerOperand(&instruction);
    if (place == nullptr) return true;
    const llvm::Value* const object = llvm::getUnderlyingObject(place, 32);
    if (llvm::is_contained(body_.parameters, object)) return false;
    const bool known = llvm::isa<llvm::Argument, llvm::LoadInst, llvm::GlobalVariable>(object);
    return !known || has_escaping_variables();
}

bool region_accesses::has_escaping_variables() {
    if (escaping_ >= 0) return escaping_ > 0;
    escaping_ = 0;
    for (llvm::Instruction& instruction : *body_.entry)
        if (auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
            if (escapes(*variable)) escaping_ = 1;
    return escaping_ > 0;
}

void describe_work_item_loop(llvm::Instruction& branch, llvm::MDNode* independent) {
    llvm::LLVMContext& context = branch.getContext();
    const auto text = [&](const char* name) { return llvm::MDString::get(context, name); };
    // Rows are short, so only unroll loops with a known length.
    llvm::SmallVector<llvm::Metadata*, 3> facts{
        nullptr, llvm::MDNode::get(context, text("llvm.loop.unroll.runtime.disable"))};
    if (independent != nullptr)
        facts.push_back(
            llvm::MDNode::get(context, {text("llvm.loop.parallel_accesses"), independent}));
    llvm::MDNode* const loop = llvm::MDNode::getDistinct(context, facts);
    loop->replaceOperandWith(0, loop);
    branch.setMetadata(llvm::LLVMContext::MD_loop, loop);
}

} // namespace hmmcc
