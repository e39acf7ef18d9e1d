// SPDX-License-Identifier: MIT
/*
 * What hmmMallocManaged() gave out: mappings of their own, so that what is moved or
 * freed is nobody else's. Nothing else tells it from other memory.
 */
#pragma once

#include "own_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace hmmrt {

class managed_memory {
  public:
    /// Zeroes, on a page; from 2 MiB on, on a multiple of that. Throws std::bad_alloc.
    void* allocate(std::size_t bytes);
    /// Whether the address is in memory that was given out.
    bool contains(const void* ptr) const;
    /// Takes it out of the list: whoever got true gives it to release(). False if it is
    /// not in there.
    bool forget(void* memory, std::size_t& bytes);
    static void release(void* memory, std::size_t bytes);

  private:
    mutable std::mutex lock_;
    std::pmr::map<std::uint64_t, std::size_t> sizes_{own_pool()};
};

} // namespace hmmrt
