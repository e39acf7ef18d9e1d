// SPDX-License-Identifier: MIT
/*
 * What hmmHostRegister() got: ranges of bytes that do not overlap, whose pages are
 * locked. Two may share a page; it is locked until both are gone. The lock is held while
 * pages are locked and unlocked, so that the list says what is locked.
 */
#pragma once

#include "own_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace hmmrt {

class registered_memory {
  public:
    /// Throws failure, and then nothing has changed.
    void add(const void* ptr, std::size_t bytes, unsigned flags);
    void remove(const void* ptr);
    /// What the memory that the address is in was registered with.
    std::optional<unsigned> flags_of(const void* ptr) const;

  private:
    struct registration {
        std::size_t bytes;
        unsigned flags;
    };
    using table = std::pmr::map<std::uint64_t, registration>;

    bool overlaps(std::uint64_t begin, std::size_t bytes) const;
    void unlock_own_pages(table::iterator of);

    mutable std::mutex lock_;
    table table_{own_pool()}; ///< by address
};

} // namespace hmmrt
