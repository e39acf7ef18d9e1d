// SPDX-License-Identifier: MIT
/*
 * Memory that the library allocated: cells of slabs if it is small, otherwise a
 * mapping per allocation. Migrating or freeing it affects no other memory,
 * except that small allocations may share a page. Apart from that, it is
 * ordinary memory.
 */
#pragma once

#include "base/own_memory.hpp"
#include "memory/slabs.hpp"
#include "memory/unmapping.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace hmmrt {

class memory_pool;

/// An allocated cell or mapping.
struct allocation {
    std::uint64_t begin = 0;
    std::size_t bytes = 0;
    memory_kind kind = memory_kind::managed;
    /// the current device at allocation, or the pool's
    int device = 0;
    /// the pool that gets it back; NULL to unmap it
    std::shared_ptr<memory_pool> pool;

    void* memory() const { return reinterpret_cast<void*>(begin); }
};

/// A cell or a mapping.
struct memory_place {
    std::uint64_t begin;
    std::size_t bytes;
};

class managed_memory {
  public:
    explicit managed_memory(chosen_machine& of) : machine_(of), slabs_(of) {}

    /// Allocates zero-filled memory. Whole pages are page-aligned, smaller sizes are aligned to 256
    /// bytes, and sizes from 2 MiB on to 2 MiB. Device memory gets @where, which must be started,
    /// as its preferred location. Throws failure and std::bad_alloc.
    allocation allocate(std::size_t bytes, memory_kind kind, device& where);
    /// Adds memory from map() to the list. Throws std::bad_alloc.
    void add(const allocation& given);
    /// Returns the allocation that contains the address.
    std::optional<allocation> find(const void* ptr) const;
    /// Removes the allocation at @memory from the list if wanted(allocation).
    /// The caller returns it to its pool or calls release().
    template <class Condition>
    std::optional<allocation> forget(void* memory, Condition wanted) {
        const std::lock_guard lock(lock_);
        const auto found = table_.find(reinterpret_cast<std::uint64_t>(memory));
        if (found == table_.end() || !wanted(found->second)) return std::nullopt;
        allocation gone = found->second;
        if (gone.pool)
            table_.erase(found);
        else
            ending_.insert(table_.extract(found));
        return gone;
    }
    /// Releases an allocation that forget() removed.
    void release(const allocation& gone) noexcept;

    /// Returns @bytes rounded up to a cell or to whole pages; throws
    /// std::bad_alloc.
    static std::size_t rounded(std::size_t bytes, memory_kind kind);
    /// Like allocate(), but doesn't add the memory to the list. The result has
    /// rounded() bytes or whole pages. If @zeroed, it must be zero-filled.
    memory_place map(std::size_t bytes, memory_kind kind, device& where, bool zeroed);
    /// Sets the preferred location of memory from map() again if it may have
    /// changed. Throws failure.
    void place(const memory_place& given, device& where);
    /// True if the memory is a cell, so that it shares its slab with others.
    bool is_cell(std::uint64_t begin) const { return slabs_.has(begin); }
    /// Unmaps memory from map(). Returns false if the kernel can't unmap it
    /// now: then its contents are gone, and the caller still owns it.
    bool unmap(const memory_place& gone) noexcept;
    /// As above, but takes over memory that can't be unmapped now, and retries
    /// later.
    void end(const memory_place& gone) noexcept;

  private:
    using table = std::pmr::map<std::uint64_t, allocation>;

    std::uint64_t map_own(std::size_t whole);
    void prefer_device(const memory_place& given, device& where);
    void keep(std::uint64_t begin, std::size_t bytes) noexcept;

    chosen_machine& machine_;
    mutable std::mutex lock_;
    table table_{own_pool()};
    table ending_{own_pool()}; ///< from forget() to release()
    left_mappings<table> left_{table(own_pool())};
    slab_table slabs_;
};

} // namespace hmmrt
