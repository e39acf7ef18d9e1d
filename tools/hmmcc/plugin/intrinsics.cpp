// SPDX-License-Identifier: MIT
#include "intrinsics.hpp"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/Function.h>

namespace hmmcc {

intrinsic intrinsic_named(llvm::StringRef name) {
    if (!name.consume_front("__hmm_")) return intrinsic::none;
    return llvm::StringSwitch<intrinsic>(name)
        .Case("thread_index", intrinsic::thread_index)
        .Case("block_index", intrinsic::block_index)
        .Case("block_size", intrinsic::block_size)
        .Case("grid_size", intrinsic::grid_size)
        .Case("thread_rank", intrinsic::thread_rank)
        .Case("grid_is_valid", intrinsic::grid_is_valid)
        .Case("block_barrier", intrinsic::block_barrier)
        .Case("block_count", intrinsic::block_count)
        .Case("grid_barrier", intrinsic::grid_barrier)
        .Case("lockstep", intrinsic::lockstep)
        .Case("warp_barrier", intrinsic::warp_barrier)
        .Case("warp_exchange", intrinsic::warp_exchange)
        .Case("warp_exchange32", intrinsic::warp_exchange32)
        .Case("warp_shift", intrinsic::warp_shift)
        .Case("warp_shift32", intrinsic::warp_shift32)
        .Case("warp_ballot", intrinsic::warp_ballot)
        .Case("warp_match", intrinsic::warp_match)
        .Case("warp_active", intrinsic::warp_active)
        .Default(intrinsic::none);
}

intrinsic intrinsic_of(const llvm::CallBase& call) {
    const llvm::Function* const function = call.getCalledFunction();
    if (function == nullptr || !function->isDeclaration()) return intrinsic::none;
    return intrinsic_named(function->getName());
}

} // namespace hmmcc
