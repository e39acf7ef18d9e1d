// SPDX-License-Identifier: MIT
// Functions that the headers for device code declare without a body. The passes replace them.
#pragma once

#include <llvm/IR/Instructions.h>

namespace hmmcc {

enum class intrinsic {
    none = 0,
    thread_index,
    block_index,
    block_size,
    grid_size,
    thread_rank,
    grid_is_valid,
    // from here on: synchronization points
    block_barrier,
    block_count,
    grid_barrier,
    lockstep,
    warp_barrier,
    warp_exchange,
    warp_exchange32,
    warp_shift,
    warp_shift32,
    warp_ballot,
    warp_match,
    warp_active,
};

intrinsic intrinsic_named(llvm::StringRef name);
intrinsic intrinsic_of(const llvm::CallBase& call);

constexpr bool is_sync_point(intrinsic what) {
    return what >= intrinsic::block_barrier;
}
constexpr bool is_warp_operation(intrinsic what) {
    return what >= intrinsic::warp_barrier;
}
constexpr bool is_shift(intrinsic what) {
    return what == intrinsic::warp_shift || what == intrinsic::warp_shift32;
}
/// True for all shuffles.
constexpr bool is_exchange(intrinsic what) {
    return what == intrinsic::warp_exchange || what == intrinsic::warp_exchange32 || is_shift(what);
}

} // namespace hmmcc
