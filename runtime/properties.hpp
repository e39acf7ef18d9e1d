// SPDX-License-Identifier: MIT
// Properties that are the same for all devices.
#pragma once

#include <cstddef>
#include <limits>

namespace hmmrt {

/// The suggested block size. Larger blocks are allowed.
inline constexpr int threads_per_block = 1024;

/// Maximum distance between rows in memory.
inline constexpr std::size_t greatest_pitch = std::numeric_limits<int>::max();

} // namespace hmmrt
