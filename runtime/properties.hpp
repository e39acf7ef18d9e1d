// SPDX-License-Identifier: MIT
// Numbers that programs are told of all devices.
#pragma once

#include <cstddef>
#include <limits>

namespace hmmrt {

/// What programs size blocks by. Blocks may have more.
inline constexpr int threads_per_block = 1024;

/// Of rows in memory.
inline constexpr std::size_t greatest_pitch = std::numeric_limits<int>::max();

} // namespace hmmrt
