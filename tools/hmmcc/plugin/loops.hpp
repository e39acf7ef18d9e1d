// SPDX-License-Identifier: MIT
// Analyses of a kernel's loops.
#pragma once

#include "kernel.hpp"

#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/OptimizationRemarkEmitter.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/TargetParser/Triple.h>

namespace hmmcc {

/// What LLVM's loop utilities need. Computed anew for each loop transformation.
struct loop_analyses {
    explicit loop_analyses(llvm::Function& function)
        : dominators(function),
          loops(dominators),
          assumptions(function),
          library_functions(llvm::Triple(function.getParent()->getTargetTriple())),
          library(library_functions),
          evolution(function, library, assumptions, dominators, loops),
          target(function.getParent()->getDataLayout()),
          remarks(&function) {}

    llvm::DominatorTree dominators;
    llvm::LoopInfo loops;
    llvm::AssumptionCache assumptions;
    llvm::TargetLibraryInfoImpl library_functions;
    llvm::TargetLibraryInfo library;
    llvm::ScalarEvolution evolution;
    llvm::TargetTransformInfo target;
    llvm::OptimizationRemarkEmitter remarks;
};

/// The synchronization points in a loop.
llvm::SmallVector<llvm::CallInst*, 4> sync_points_of(const llvm::Loop& loop);
unsigned instructions_of(const llvm::Loop& loop);

} // namespace hmmcc
