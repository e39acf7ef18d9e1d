// SPDX-License-Identifier: MIT
// Which values and branches are the same for all threads of a group.
#pragma once

#include "kernel.hpp"

#include <llvm/ADT/DenseSet.h>

namespace hmmcc {

struct uniformity {
    llvm::DenseSet<const llvm::Value*> differing;
    /// Threads can be at different cuts.
    bool cuts_differ = false;
    /// Threads can end where others come to a cut.
    bool ends_differ = false;

    bool differs(const llvm::Value& value) const { return differing.contains(&value); }
};

/// Of a kernel with cuts. It looks at those blocks only from which threads come to a cut: what
/// lives across a cut is computed there.
uniformity find_uniformity(const kernel_body& body);

} // namespace hmmcc
