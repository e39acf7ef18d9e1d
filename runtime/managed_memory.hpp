// SPDX-License-Identifier: MIT
/*
 * Memory that the library allocated. Each allocation has its own mapping, so
 * that migrating or freeing it affects no other memory. Otherwise it does not
 * differ from other memory.
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

/// The kind of allocation.
enum class memory_kind : std::uint8_t {
    managed, ///< hmmMallocManaged()
    device,  ///< hmmMalloc(), hmmMallocAsync()
    host,    ///< hmmHostAlloc(); also registered
};

/// An allocated mapping.
struct allocation {
    std::uint64_t begin = 0;
    std::size_t bytes = 0;
    memory_kind kind = memory_kind::managed;
    /// current device at allocation, or the pool's
    int device = 0;
    /// pool to which it returns; NULL: unmap it
    std::shared_ptr<memory_pool> pool;

    void* memory() const { return reinterpret_cast<void*>(begin); }
};

class managed_memory {
  public:
    /// Allocates zero-filled, page-aligned memory; from 2 MiB on it is aligned
    /// to 2 MiB. Throws std::bad_alloc.
    void* allocate(std::size_t bytes, memory_kind kind, int device);
    /// Adds a mapping of map() to the list. Throws std::bad_alloc.
    void add(const allocation& given);
    /// The allocation that contains the address.
    std::optional<allocation> find(const void* ptr) const;
    /// Removes the allocation at @memory from the list if wanted(allocation).
    /// The caller returns it to its pool or calls unmap().
    template <class Condition>
    std::optional<allocation> forget(void* memory, Condition wanted) {
        const std::lock_guard lock(lock_);
        const auto found = table_.find(reinterpret_cast<std::uint64_t>(memory));
        if (found == table_.end() || !wanted(found->second)) return std::nullopt;
        const allocation gone = found->second;
        table_.erase(found);
        return gone;
    }

    /// Returns @bytes rounded up to whole pages; throws std::bad_alloc.
    static std::size_t whole_pages(std::size_t bytes);
    static std::uint64_t map(std::size_t whole);
    static void unmap(std::uint64_t begin, std::size_t whole);

  private:
    mutable std::mutex lock_;
    std::pmr::map<std::uint64_t, allocation> table_{own_pool()};
};

} // namespace hmmrt
