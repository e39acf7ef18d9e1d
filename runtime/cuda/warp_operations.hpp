// SPDX-License-Identifier: MIT
// Operations that threads of a warp do together.
#pragma once

#include "device_code.hpp"

namespace hmmcuda {

/// Stores the operation's result for each lane of @lanes.
void operate(block_run& run, sync_kind kind, std::uint32_t lanes) noexcept;

} // namespace hmmcuda
