// SPDX-License-Identifier: MIT
// Finds the kernels of a module by the annotations of our front-end plugin.
#pragma once

#include "kernel.hpp"

namespace hmmcc {

std::vector<source_kernel> find_kernels(llvm::Module& module);

} // namespace hmmcc
