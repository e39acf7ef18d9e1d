// SPDX-License-Identifier: MIT
/*
 * Small allocations share mappings, because a process has only so many
 * (vm.max_map_count): a slab is a mapping that is cut into cells of one size.
 *
 * Allocations of different kinds, and of different devices, never share a slab,
 * so the pages of a slab have one preferred location. Cells of less than a page
 * share the advice and the residency of their page.
 *
 * A group is what the kernel can handle alone: one page with several cells, or
 * the pages of one cell. When no cell of a group is used any more, its pages are
 * mapped again before it is used again. That frees their memory, also that on a
 * device, and ends what the program has set for these addresses. Until then the
 * group is stale. A cell that is used again while its page is in use is filled
 * with zeroes. Pinned memory is locked as long as its slab exists, and is not
 * mapped again.
 *
 * A slab without used cells is unmapped. What the kernel cannot map again or
 * unmap now, for lack of mappings, is kept and tried again later.
 */
#pragma once

#include "own_memory.hpp"
#include "unmapping.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

namespace hmmrt {

class device;

/// The kind of allocation.
enum class memory_kind : std::uint8_t {
    managed, ///< hmmMallocManaged()
    device,  ///< hmmMalloc(), hmmMallocAsync()
    host,    ///< hmmHostAlloc(); also registered
};

class slab_table {
  public:
    /// Returns the size of the cell for @bytes; 0 if they do not get one.
    static std::size_t cell_size(std::size_t bytes, memory_kind kind);

    /// Returns a cell, which is aligned to its size or to pages; none if these
    /// bytes get no cell, or there is not enough memory for a slab. The device
    /// must be started. Throws failure and std::bad_alloc.
    std::optional<std::uint64_t> take(std::size_t bytes, memory_kind kind, device& where,
                                      bool zeroed);
    bool has(std::uint64_t address) const;
    /// Sets the preferred location of a cell again that is used for something
    /// else now. If other cells share its page, only if the device was reset
    /// since. Throws failure.
    void place(std::uint64_t cell, device& where);
    void give(std::uint64_t cell) noexcept;

  private:
    enum class cell_state : std::uint8_t {
        zero,  ///< free, and the pages were not touched
        old,   ///< free, with contents
        used,  ///< allocated
        stale, ///< its pages must be mapped again first
        gone,  ///< its pages are not mapped any more, and cannot be
    };
    /// kind, number of the device, size of the cells
    using slab_kind = std::tuple<memory_kind, int, std::size_t>;
    using address_list = std::pmr::list<std::uint64_t>;

    struct slab {
        slab(const slab_kind& kind, std::size_t cell, std::size_t count);

        memory_kind type() const { return std::get<memory_kind>(of); }
        std::size_t bytes() const { return cells.size() * cell_bytes; }
        std::size_t group_bytes() const { return group_cells * cell_bytes; }

        slab_kind of;
        std::size_t cell_bytes;
        std::size_t group_cells;
        std::pmr::vector<cell_state> cells;
        std::pmr::vector<std::uint16_t> used_of_group;
        /// device::starts() when the group was placed
        std::pmr::vector<std::uint64_t> placed;
        std::size_t used = 0;  ///< cells
        std::size_t free = 0;  ///< cells that can be used at once
        std::size_t first = 0; ///< no such cell is before this one
        std::size_t stale = 0; ///< groups
        bool has_gone = false;
        std::uint32_t device_id = 0;
        /// in one of the lists of its kind
        address_list::iterator listed;
        bool open = true;
    };
    struct slabs_of_kind {
        address_list open{own_pool()}; ///< slabs with cells that are free or stale
        address_list full{own_pool()};
        std::size_t bytes = 0;
    };
    using table = std::pmr::map<std::uint64_t, slab>;

    table::const_iterator containing(std::uint64_t address) const;
    slab& slab_of(std::uint64_t cell, std::uint64_t& begin);
    table::iterator find_open(slabs_of_kind& all);
    table::iterator add(const slab_kind& of, slabs_of_kind& all, device& where);
    void remove(table::iterator which) noexcept;
    static void place_slab(std::uint64_t begin, slab& which, device& where);
    static void place_group(std::uint64_t begin, slab& which, std::size_t group, device& where);
    static bool is_locked(const slab& which);
    static void set_open(slabs_of_kind& all, slab& which, bool open) noexcept;
    static std::size_t find_cell(const slab& from);
    static cell_state use_cell(slab& from, std::size_t index);
    static void make_stale(slab& which, std::size_t group) noexcept;
    static void renew(std::uint64_t begin, slab& which) noexcept;
    static void renew_groups(std::uint64_t begin, slab& which, std::size_t first,
                             std::size_t end) noexcept;

    mutable std::mutex lock_;
    table table_{own_pool()};
    left_mappings<table> left_{table(own_pool())};
    std::pmr::map<slab_kind, slabs_of_kind> kinds_{own_pool()};
};

} // namespace hmmrt
