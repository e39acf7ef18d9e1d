// SPDX-License-Identifier: MIT
/*
 * Finds values and branches that are uniform, that is, the same for all threads of a group.
 *
 * LLVM's UniformityInfo can't replace this. It does not tell which basic blocks only some threads
 * run, which decides if they can be at different synchronization points, and it counts threads
 * that end. Its sources of divergence come from the target, and x86 has none.
 */
#pragma once

#include "kernel.hpp"

#include <llvm/ADT/DenseSet.h>

namespace hmmcc {

struct uniformity {
    llvm::DenseSet<const llvm::Value*> varying;
    /// Threads of a group can be at different synchronization points.
    bool syncs_diverge = false;
    /// Some threads of a group can end while others reach a synchronization point.
    bool ends_diverge = false;

    bool varies(const llvm::Value& value) const { return varying.contains(&value); }
};

/// For a kernel with synchronization points. It only looks at basic blocks from which a thread can
/// reach one, because values that live across one are computed there.
uniformity find_uniformity(const kernel_body& body);

} // namespace hmmcc
