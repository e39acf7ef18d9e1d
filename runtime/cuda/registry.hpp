// SPDX-License-Identifier: MIT
// The kernels and variables that hmmcc's object files register when the program starts.
#pragma once

#include "device_code.hpp"

#include <cstddef>

namespace hmmcuda {

/// The code of a kernel, by the address that the program has of it; NULL if there is none.
const kernel_code* find_kernel(const void* function);

} // namespace hmmcuda
