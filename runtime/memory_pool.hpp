// SPDX-License-Identifier: MIT
/*
 * Memory that is given out and taken back in the order of streams.
 *
 * A pool keeps mappings that were freed. One may be given out again at once to work that comes
 * behind the free in the same queue, and to everybody when that place is reached. What is
 * kept beyond the threshold is unmapped when a synchronisation finds it unused.
 *
 * Locking   lock_ of a pool is held for its list, and while a mapping is made or unmapped. No
 *           lock of a device, a session or the table of memory is held when it is taken;
 *           those may be taken under it.
 * Lifetime  memory that is given out holds its pool. A pool that was destroyed stays in
 *           pool_table until nothing of it is given out or waited for.
 */
#pragma once

#include "handle_table.hpp"
#include "managed_memory.hpp"
#include "stream.hpp"

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
    std::shared_ptr<event_point> after; ///< work that may use it until then; NULL: none does
};
using kept_list = std::pmr::list<kept_memory>;

/// As a list of one, for give_back(), which then needs no memory. Throws std::bad_alloc.
kept_list returned_memory(const allocation& gone);

class memory_pool : public std::enable_shared_from_this<memory_pool> {
  public:
    /// Never has more than @limit bytes.
    memory_pool(device& home, std::size_t limit) : home_(home), limit_(limit) {}
    memory_pool(const memory_pool&) = delete;
    memory_pool& operator=(const memory_pool&) = delete;
    ~memory_pool();

    device& home() const { return home_; }
    /// Memory for work that is queued in @in of @where from now on. Throws failure.
    allocation allocate(std::size_t bytes, device& where, const stream* in);
    void give_back(kept_list&& gone, std::shared_ptr<event_point> after) noexcept;

    /// Unmaps what is not used, until the pool has no more than that.
    void trim(std::size_t keep);
    /// After a synchronisation: trims to the threshold. False if the pool is destroyed and
    /// has nothing left.
    bool settle();
    /// Keeps nothing from now on.
    void destroy();

    /// Throws failure for what it has not, or cannot be set to that.
    void get(hmmMemPoolAttr attribute, void* value) const;
    void set(hmmMemPoolAttr attribute, const void* value);

  private:
    kept_list::iterator find_fitting(std::size_t whole, device& where, const stream* in);
    kept_list take(std::size_t whole, device& where, const stream* in);
    void put_back(kept_list&& taken) noexcept;
    void release_unused(std::size_t keep);

    device& home_;
    const std::size_t limit_;
    mutable std::mutex lock_;
    kept_list kept_{own_pool()};
    std::size_t used_ = 0, used_high_ = 0;
    std::size_t reserved_ = 0, reserved_high_ = 0;
    std::uint64_t threshold_ = 0;
    bool opportunistic_ = true;
    bool destroyed_ = false;
};

/// The pools of the program, by handles; which one each device uses.
class pool_table {
  public:
    /// A handle; throws failure.
    std::uint64_t create(device& home, std::size_t limit);
    void destroy(std::uint64_t handle);
    std::shared_ptr<memory_pool> find(std::uint64_t handle) const;
    /// Makes it if need be.
    std::uint64_t default_of(device& home);
    std::uint64_t current_of(device& home);
    void set_current(device& home, std::uint64_t handle);
    /// After a synchronisation.
    void settle();

  private:
    using handles = std::array<std::uint64_t, HMMRT_MAX_DEVICES>; ///< by number of device

    std::uint64_t default_locked(device& home);
    std::uint64_t add_locked(device& home, std::size_t limit);

    mutable std::mutex lock_;
    handle_table<memory_pool> handles_;
    std::pmr::list<std::shared_ptr<memory_pool>> all_{own_pool()}; ///< the destroyed as well
    handles default_ = {};
    handles current_ = {}; ///< 0: the default one
};

} // namespace hmmrt
