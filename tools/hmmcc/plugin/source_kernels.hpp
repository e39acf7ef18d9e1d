// SPDX-License-Identifier: MIT
// The kernels of a module, from the annotations that the front end gave them.
#pragma once

#include "kernel.hpp"

namespace hmmcc {

std::vector<source_kernel> find_kernels(llvm::Module& module);

} // namespace hmmcc
