// SPDX-License-Identifier: MIT
// The kernels and variables that hmmcc's object files register when the program starts.
#pragma once

#include "device_code.hpp"

#include <cstddef>

namespace hmmcuda {

/// The code of the kernel with this address in the program, or NULL.
const kernel_code* find_kernel(const void* function);

/// The maximum dynamic shared memory of a launch of this kernel. Initially, this is the unused rest
/// of model::shared_bytes.
std::size_t dynamic_limit(const kernel_code& kernel);
/// Throws std::bad_alloc.
void set_dynamic_limit(const kernel_code& kernel, std::size_t bytes);

} // namespace hmmcuda
