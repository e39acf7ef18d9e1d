// SPDX-License-Identifier: MIT
/*
 * Small cells of memory that never migrate.
 *
 * Memory that both the CPU and the device access in every launch would migrate
 * back and forth, together with its neighbours on the heap. Shared memory stays
 * in system memory, and devices map it remotely.
 */
#pragma once

#include "base/own_memory.hpp"
#include "sys/fd.hpp"

#include <cstddef>
#include <mutex>

namespace hmmrt {

class shared_pool : public in_own_memory {
  public:
    static constexpr std::size_t cell_bytes = 256;
    static constexpr std::size_t cells = 4096;
    static constexpr std::size_t alignment = 64;

    /// The pool of the program; never destroyed.
    static shared_pool& get();

    /// Allocates a cell, or ordinary memory if @bytes is too large for a cell
    /// or all cells are in use. Aligned to `alignment`. Throws std::bad_alloc.
    void* allocate(std::size_t bytes);
    void free(void* memory);

  private:
    struct free_cell {
        free_cell* next;
    };

    void* take_cell();
    bool owns(const void* memory) const;

    std::mutex lock_;
    mapping memory_;
    free_cell* free_ = nullptr;
    /// index of the first cell that was never used
    std::size_t never_used_ = 0;
};

} // namespace hmmrt
