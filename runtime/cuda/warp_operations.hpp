// SPDX-License-Identifier: MIT
// What threads of a warp do together.
#pragma once

#include "device_code.hpp"

namespace hmmcuda {

/// Gives each lane of @lanes what the operation has for it.
void operate(block_run& run, cut_kind kind, std::uint32_t lanes) noexcept;

} // namespace hmmcuda
