// SPDX-License-Identifier: MIT
// The kernels and variables that hmmcc's object files register when the program starts.
#pragma once

#include "device_code.hpp"

#include <cstddef>

namespace hmmcuda {

/// The code of a kernel, by the address that the program has of it; NULL if there is none.
const kernel_code* find_kernel(const void* function);

/// The most dynamic shared memory that a launch of this kernel can have. A kernel starts with what
/// is left of model::shared_bytes.
std::size_t dynamic_limit(const kernel_code& kernel);
/// Throws std::bad_alloc.
void set_dynamic_limit(const kernel_code& kernel, std::size_t bytes);

} // namespace hmmcuda
