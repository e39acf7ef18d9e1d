// SPDX-License-Identifier: MIT
/*
 * What the library gave out as memory: mappings of their own, so that what is moved or
 * freed is nobody else's. Nothing else tells it from other memory.
 */
#pragma once

#include "own_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace hmmrt {

class memory_pool;

/// What it was asked for as.
enum class memory_kind : std::uint8_t {
    managed, ///< hmmMallocManaged()
    device,  ///< hmmMalloc(), hmmMallocAsync()
    host,    ///< hmmHostAlloc(); registered memory as well
};

/// A mapping that is given out.
struct allocation {
    std::uint64_t begin = 0;
    std::size_t bytes = 0;
    memory_kind kind = memory_kind::managed;
    int device = 0;                    ///< the current one then, or the pool's
    std::shared_ptr<memory_pool> pool; ///< to which it goes back; NULL: it is unmapped

    void* memory() const { return reinterpret_cast<void*>(begin); }
};

class managed_memory {
  public:
    /// Zeroes, on a page; from 2 MiB on, on a multiple of that. Throws std::bad_alloc.
    void* allocate(std::size_t bytes, memory_kind kind, int device);
    /// Puts a mapping of map() into the list. Throws std::bad_alloc.
    void add(const allocation& given);
    /// The one that the address is in.
    std::optional<allocation> find(const void* ptr) const;
    /// Takes the one that begins there out of the list, if wanted(allocation): the caller gives
    /// it back to its pool or to unmap().
    template <class Condition>
    std::optional<allocation> forget(void* memory, Condition wanted) {
        const std::lock_guard lock(lock_);
        const auto found = table_.find(reinterpret_cast<std::uint64_t>(memory));
        if (found == table_.end() || !wanted(found->second)) return std::nullopt;
        const allocation gone = found->second;
        table_.erase(found);
        return gone;
    }

    /// @bytes, rounded up to whole pages; throws std::bad_alloc.
    static std::size_t whole_pages(std::size_t bytes);
    static std::uint64_t map(std::size_t whole);
    static void unmap(std::uint64_t begin, std::size_t whole);

  private:
    mutable std::mutex lock_;
    std::pmr::map<std::uint64_t, allocation> table_{own_pool()};
};

} // namespace hmmrt
