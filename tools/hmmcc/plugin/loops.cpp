// SPDX-License-Identifier: MIT
#include "loops.hpp"

#include "intrinsics.hpp"

namespace hmmcc {

llvm::SmallVector<llvm::CallInst*, 4> sync_points_of(const llvm::Loop& loop) {
    llvm::SmallVector<llvm::CallInst*, 4> found;
    for (llvm::BasicBlock* const block : loop.blocks())
        for (llvm::Instruction& instruction : *block)
            if (auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction))
                if (is_sync_point(intrinsic_of(*call))) found.push_back(call);
    return found;
}

unsigned instructions_of(const llvm::Loop& loop) {
    unsigned count = 0;
    for (const llvm::BasicBlock* const block : loop.blocks())
        count += static_cast<unsigned>(block->size());
    return count;
}

} // namespace hmmcc
