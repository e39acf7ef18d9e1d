// SPDX-License-Identifier: MIT
/*
 * Short loops with synchronization points:
 *
 *      for (distance = 16; distance > 0; distance /= 2)
 *              sum += __shfl_down_sync(all, sum, distance);
 *
 * We unroll these completely, so that each synchronization point has a known
 * successor and the distances are constants.
 */
#include "intrinsics.hpp"
#include "kernel.hpp"
#include "loops.hpp"

#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/UnrollLoop.h>

namespace hmmcc {
namespace {

constexpr unsigned most_iterations = 12;
constexpr unsigned most_unrolled = 300; ///< instructions of all iterations

/// The trip count, if each iteration passes all synchronization points; else 0.
unsigned iterations_to_unroll(loop_analyses& known, const llvm::Loop& loop) {
    llvm::BasicBlock* const latch = loop.getLoopLatch();
    const auto sync_points = sync_points_of(loop);
    if (latch == nullptr || sync_points.empty() || loop.getExitingBlock() == nullptr) return 0;
    const unsigned iterations = known.evolution.getSmallConstantTripCount(&loop);
    if (iterations == 0 || iterations > most_iterations ||
        iterations * instructions_of(loop) > most_unrolled)
        return 0;
    const bool always = llvm::all_of(sync_points, [&](const llvm::CallInst* point) {
        return known.dominators.dominates(point->getParent(), latch);
    });
    return always ? iterations : 0;
}

bool unroll_one(kernel_body& body) {
    loop_analyses known(*body.function);
    for (llvm::Loop* const loop : known.loops.getLoopsInPreorder()) {
        if (!loop->isInnermost()) continue;
        const unsigned iterations = iterations_to_unroll(known, *loop);
        if (iterations == 0) continue;
        llvm::simplifyLoop(loop, &known.dominators, &known.loops, &known.evolution,
                           &known.assumptions, nullptr, false);
        llvm::formLCSSARecursively(*loop, known.dominators, &known.loops, &known.evolution);
        llvm::UnrollLoopOptions options{};
        options.Count = iterations;
        options.Force = true;
        if (llvm::UnrollLoop(loop, options, &known.loops, &known.evolution, &known.dominators,
                             &known.assumptions, &known.target, &known.remarks,
                             true) == llvm::LoopUnrollResult::FullyUnrolled)
            return true;
    }
    return false;
}

/// Clang marks synchronization points as noduplicate, which would prevent unrolling.
void allow_copies(llvm::Module& module) {
    for (llvm::Function& function : module) {
        if (!is_sync_point(intrinsic_named(function.getName()))) continue;
        function.removeFnAttr(llvm::Attribute::NoDuplicate);
        for (llvm::User* const user : function.users())
            if (auto* const call = llvm::dyn_cast<llvm::CallInst>(user))
                call->removeFnAttr(llvm::Attribute::NoDuplicate);
    }
}

} // namespace

void unroll_short_loops(kernel_body& body) {
    if (!body.optimizes) return;
    allow_copies(*body.function->getParent());
    while (unroll_one(body)) {
    }
}

} // namespace hmmcc
