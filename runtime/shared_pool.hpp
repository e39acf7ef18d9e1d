// SPDX-License-Identifier: MIT
/*
 * Small blocks of memory that never migrate.
 *
 * What CPU and device both touch at every launch would travel back and forth, and
 * take its neighbours on the heap with it. Shared memory stays where it is and is
 * mapped remotely.
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

    /// The program's; never destroyed.
    static shared_pool& get();

    /// A block, or ordinary memory where the size or the number of blocks does not
    /// suffice. Aligned to `alignment`. Throws std::bad_alloc.
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
    std::size_t never_used_ = 0; ///< index of the first such block
};

} // namespace hmmrt
