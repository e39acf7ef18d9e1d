// SPDX-License-Identifier: MIT
/*
 * Small blocks of memory that never migrate.
 *
 * Memory that both the CPU and the device access in every launch would migrate
 * back and forth, together with its neighbours on the heap. Shared memory stays
 * in system memory, and devices map it remotely.
 */
#pragma once

#include "own_memory.hpp"
#include "sys/fd.hpp"

#include <cstddef>
#include <mutex>

namespace hmmrt {

class shared_pool : public in_own_memory {
  public:
    static constexpr std::size_t block_bytes = 256;
    static constexpr std::size_t blocks = 4096;
    static constexpr std::size_t alignment = 64;

    /// The pool of the program; never destroyed.
    static shared_pool& get();

    /// Allocates a block, or ordinary memory if @bytes is too large for a block
    /// or all blocks are in use. Aligned to `alignment`. Throws std::bad_alloc.
    void* allocate(std::size_t bytes);
    void free(void* memory);

  private:
    struct free_block {
        free_block* next;
    };

    void* take_block();
    bool owns(const void* memory) const;

    std::mutex lock_;
    mapping memory_;
    free_block* free_ = nullptr;
    /// index of the first block that was never used
    std::size_t never_used_ = 0;
};

} // namespace hmmrt
