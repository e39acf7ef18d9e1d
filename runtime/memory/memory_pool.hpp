// SPDX-License-Identifier: MIT
/*
 * Stream-ordered allocation.
 *
 * A pool keeps freed mappings, or cells of slabs if they are small. It reuses a mapping immediately
 * for work that is queued after the free in the same queue, and for all work once that position is
 * reached. A synchronisation unmaps unused mappings while the pool is larger than its threshold.
 * What can't be unmapped stays in the pool.
 *
 * Locking: lock_ of a pool protects its list, and is held while a mapping is
 * created or unmapped. Don't take it while holding a lock of a device, a
 * session or the table of memory; these nest inside it.
 *
 * Lifetime: an allocation holds a reference to its pool. A destroyed pool stays
 * in pool_table until all its memory is freed and no longer in use.
 */
#pragma once

#include "base/handle_table.hpp"
#include "memory/managed_memory.hpp"
#include "session/stream.hpp"

#include <array>
#include <list>
#include <memory>
#include <memory_resource>
#include <mutex>

#include <linux/hmmrt.h>

namespace hmmrt {

class device;

/// A mapping that a pool keeps.
struct kept_memory {
    std::uint64_t begin;
    std::size_t bytes;
    /// work that may still use the mapping, or NULL
    std::shared_ptr<event_point> after;
};
using kept_list = std::pmr::list<kept_memory>;

/// Creates a list with one element for give_back(), which therefore doesn't
/// have to allocate. Throws std::bad_alloc.
kept_list returned_memory(const allocation& gone);

class memory_pool : public std::enable_shared_from_this<memory_pool> {
  public:
    /// The pool never has more than @limit bytes.
    memory_pool(managed_memory& of, device& target, std::size_t limit)
        : memory_(of), device_(target), limit_(limit) {}
    memory_pool(const memory_pool&) = delete;
    memory_pool& operator=(const memory_pool&) = delete;
    ~memory_pool();

    device& get_device() const { return device_; }
    /// Allocates memory for work that is queued in stream @in of @where from
    /// now on. Throws failure.
    allocation allocate(std::size_t bytes, device& where, const stream* in);
    void give_back(kept_list&& gone, std::shared_ptr<event_point> after) noexcept;
    /// Counts memory that didn't come from the pool as if it had. Call
    /// give_back() next.
    void take_over(std::size_t bytes) noexcept;

    /// Unmaps unused memory until the pool has at most @keep bytes.
    void trim(std::size_t keep);
    /// Called after a synchronisation: trims to the threshold. Returns false if
    /// the pool is destroyed and empty.
    bool settle();
    /// Destroys the pool, which doesn't keep freed memory from now on.
    void destroy();

    /// Throws failure for an unknown attribute or an invalid value.
    void get(hmmMemPoolAttr attribute, void* value) const;
    void set(hmmMemPoolAttr attribute, const void* value);

  private:
    kept_list::iterator find_fitting(std::size_t whole, device& where, const stream* in);
    kept_list take(std::size_t bytes, device& where, const stream* in);
    void put_back(kept_list&& taken) noexcept;
    void release_unused(std::size_t keep);

    managed_memory& memory_;
    device& device_;
    const std::size_t limit_;
    mutable std::mutex lock_;
    kept_list kept_{own_pool()};
    std::size_t used_ = 0, used_high_ = 0;
    std::size_t reserved_ = 0, reserved_high_ = 0;
    std::uint64_t threshold_ = 0;
    bool opportunistic_ = true;
    bool destroyed_ = false;
};

/// The pools of the program by handle, and the pool that each device uses.
class pool_table {
  public:
    /// The pools get their memory from @of.
    explicit pool_table(managed_memory& of) : memory_(of) {}

    /// Creates a pool and returns its handle; throws failure.
    std::uint64_t create(device& target, std::size_t limit);
    void destroy(std::uint64_t handle);
    std::shared_ptr<memory_pool> find(std::uint64_t handle) const;
    /// Creates the default pool if needed.
    std::uint64_t default_of(device& target);
    std::uint64_t current_of(device& target);
    void set_current(device& target, std::uint64_t handle);
    /// Called after a synchronisation.
    void settle();

  private:
    /// indexed by device number
    using handles = std::array<std::uint64_t, HMMRT_MAX_DEVICES>;

    std::uint64_t default_locked(device& target);
    std::uint64_t add_locked(device& target, std::size_t limit);

    managed_memory& memory_;
    mutable std::mutex lock_;
    handle_table<memory_pool> handles_;
    /// including destroyed pools
    std::pmr::list<std::shared_ptr<memory_pool>> all_{own_pool()};
    handles default_ = {};
    handles current_ = {}; ///< 0: the default pool
};

} // namespace hmmrt
