// SPDX-License-Identifier: MIT
/*
 * Memory of running blocks: __shared__ variables, and values that threads keep
 * while they wait.
 *
 * It is shared memory of the process, which never migrates: the CPU and devices access it in place.
 * A pool has areas of one size. A lane takes one for each block, or for all blocks of a cooperative
 * launch. We never destroy pools, because lanes use them until their device is reset. An area stays
 * taken if its launch fails.
 */
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hmmcuda {

class block_memory {
  public:
    /// Enough for the blocks and cooperative launches that run at the same time on all devices,
    /// plus some that failed. If none is left, a block ends its launch.
    static constexpr std::uint32_t areas = 256;
    static constexpr std::size_t smallest = 16u << 10;
    static constexpr std::size_t largest = std::size_t(1) << 32;

    /// The pool with areas of at least @bytes. NULL if @bytes is too large, or
    /// if there is no memory.
    static block_memory* of_size(std::size_t bytes);

    block_memory(const block_memory&) = delete;
    block_memory& operator=(const block_memory&) = delete;

    /// Returns NULL if all areas are taken.
    std::byte* take() noexcept;
    void give(std::byte* area) noexcept;

  private:
    explicit block_memory(std::size_t bytes) : bytes_(bytes) {}
    static block_memory* create(std::size_t bytes);

    std::byte* first_area() noexcept;

    std::size_t bytes_; ///< of an area
    std::array<std::atomic<std::uint64_t>, areas / 64> taken_{};
};

} // namespace hmmcuda
