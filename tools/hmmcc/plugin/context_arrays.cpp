// SPDX-License-Identifier: MIT
#include "context_arrays.hpp"

#include "block_member.hpp"

#include <cstddef>

namespace hmmcc {

llvm::Value* context_arrays::take(llvm::IRBuilder<>& entry, std::uint64_t bytes) {
    if (free_ == nullptr) {
        free_ =
            entry.CreateLoad(entry.getPtrTy(),
                             address_of_member(body_, entry, offsetof(hmmcuda::block_run, arrays)));
    }
    llvm::Value* const taken = free_;
    const std::uint64_t mask = hmmcuda::memory_alignment - 1;
    llvm::Value* const all =
        entry.CreateMul(entry.CreateZExt(body_.threads, entry.getInt64Ty()), entry.getInt64(bytes));
    llvm::Value* const rounded =
        entry.CreateAnd(entry.CreateAdd(all, entry.getInt64(mask)), entry.getInt64(~mask));
    free_ = entry.CreateInBoundsGEP(entry.getInt8Ty(), taken, rounded);
    body_.thread_bytes += static_cast<std::uint32_t>(bytes);
    body_.array_count++;
    return taken;
}

void context_arrays::replace_variables(llvm::IRBuilder<>& entry) {
    const llvm::DataLayout& layout = body_.function->getParent()->getDataLayout();
    for (llvm::AllocaInst* const variable : body_.context_variables) {
        const std::uint64_t count =
            llvm::cast<llvm::ConstantInt>(variable->getArraySize())->getZExtValue();
        const std::uint64_t bytes = llvm::alignTo(
            layout.getTypeAllocSize(variable->getAllocatedType()) * count, variable->getAlign());
        if (variable->getAlign().value() > hmmcuda::memory_alignment)
            report_error(*body_.entry->getTerminator(),
                         "hmmcc does not support an alignment above " +
                             llvm::Twine(hmmcuda::memory_alignment) +
                             " for a variable that is live across a barrier");
        replace_by_elements(*variable, take(entry, bytes), bytes);
    }
}

void context_arrays::replace_by_elements(llvm::AllocaInst& variable, llvm::Value* array,
                                         std::uint64_t bytes) {
    llvm::SmallVector<llvm::Use*, 16> uses;
    for (llvm::Use& use : variable.uses())
        uses.push_back(&use);
    values_of_phis known;
    for (llvm::Use* const use : uses) {
        auto* const user = llvm::cast<llvm::Instruction>(use->getUser());
        if (auto* const phi = llvm::dyn_cast<llvm::PHINode>(user)) {
            llvm::BasicBlock* const from = phi->getIncomingBlock(*use);
            llvm::Value*& same = known[{phi, from}];
            if (same == nullptr) same = element_of_thread(*from->getTerminator(), array, bytes);
            use->set(same);
        } else {
            use->set(element_of_thread(*user, array, bytes));
        }
    }
    variable.eraseFromParent();
}

llvm::Value* context_arrays::element_of_thread(llvm::Instruction& before, llvm::Value* array,
                                               std::uint64_t bytes) {
    llvm::IRBuilder<> builder(&before);
    llvm::Value* const rank = builder.CreateZExt(
        builder.CreateLoad(builder.getInt32Ty(), body_.rank), builder.getInt64Ty());
    return builder.CreateInBoundsGEP(
        builder.getInt8Ty(), array,
        builder.CreateMul(rank, builder.getInt64(bytes), "", true, true));
}

} // namespace hmmcc
