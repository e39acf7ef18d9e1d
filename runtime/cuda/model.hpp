// SPDX-License-Identifier: MIT
// The device model that CUDA kernels see, beyond what libhmmrt reports.
#pragma once

#include <climits>
#include <cstddef>

namespace hmmcuda::model {

inline constexpr int version = 12080; ///< of the interface

inline constexpr int capability_major = 9;
inline constexpr int capability_minor = 0;
inline constexpr int warp_size = 32;
inline constexpr int threads_per_block = 1024;
inline constexpr int block_size[3] = {1024, 1024, 64};
inline constexpr int grid_size[3] = {INT_MAX, 65535, 65535};
inline constexpr int registers = 65536;
inline constexpr std::size_t constant_bytes = std::size_t{64} << 10;
/// Shared memory of a block, without and with cudaFuncSetAttribute().
inline constexpr std::size_t shared_bytes = std::size_t{48} << 10;
inline constexpr std::size_t most_shared_bytes = std::size_t{227} << 10;

} // namespace hmmcuda::model
