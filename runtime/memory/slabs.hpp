// SPDX-License-Identifier: MIT
/*
 * Small allocations share mappings, because the number of mappings of a process
 * is limited (vm.max_map_count). A slab is a mapping that is divided into cells
 * of one size.
 *
 * Allocations of different kinds, and of different devices, never share a slab,
 * so the pages of a slab have one preferred location. Cells of less than a page
 * share the advice and the residency of their page.
 *
 * A group is a unit that the kernel can handle separately: one page with several cells, or the
 * pages of one cell. When its last cell is freed, the group becomes stale. Before it is used again,
 * we map its pages anew, which frees their memory, including device memory, and resets the
 * program's settings for these addresses. A cell that is reused while its page is in use is
 * zero-filled. Pinned memory stays locked as long as its slab exists, and isn't mapped anew.
 *
 * A slab without used cells is unmapped. If the kernel can't remap or unmap
 * pages for lack of mappings, we keep them and retry later.
 */
#pragma once

#include "base/own_memory.hpp"
#include "memory/unmapping.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

namespace hmmrt {

class chosen_machine;
class device;

/// The kind of allocation.
enum class memory_kind : std::uint8_t {
    managed, ///< hmmMallocManaged()
    device,  ///< hmmMalloc(), hmmMallocAsync()
    host,    ///< hmmHostAlloc(); also registered
};

class slab_table {
  public:
    explicit slab_table(chosen_machine& of) : machine_(of) {}

    /// Returns the cell size for @bytes; 0 if this size doesn't get a cell.
    static std::size_t cell_size(std::size_t bytes, memory_kind kind);

    /// Returns a cell, aligned to its size or to pages. Returns nothing if
    /// @bytes doesn't get a cell, or if there isn't enough memory for a slab.
    /// The device must be started. Throws failure and std::bad_alloc.
    std::optional<std::uint64_t> take(std::size_t bytes, memory_kind kind, device& where,
                                      bool zeroed);
    bool has(std::uint64_t address) const;
    /// Sets the preferred location again for a cell that is being reused. If
    /// other cells share its page, does so only if the device was reset since.
    /// Throws failure.
    void place(std::uint64_t cell, device& where);
    void give(std::uint64_t cell) noexcept;

  private:
    enum class cell_state : std::uint8_t {
        zero,  ///< free, pages not touched since they were mapped
        old,   ///< free, with contents
        used,  ///< allocated
        stale, ///< its pages must be mapped anew first
        gone,  ///< its pages are unmapped and can't be mapped
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
        std::size_t first = 0; ///< no free cell has a lower index
        std::size_t stale = 0; ///< groups
        bool has_gone = false;
        std::uint32_t device_id = 0;
        /// in one of the lists of its kind
        address_list::iterator listed;
        bool open = true;
    };
    struct slabs_of_kind {
        address_list open{own_pool()}; ///< slabs with free or stale cells
        address_list full{own_pool()};
        std::size_t bytes = 0;
    };
    using table = std::pmr::map<std::uint64_t, slab>;

    table::const_iterator containing(std::uint64_t address) const;
    slab& slab_of(std::uint64_t cell, std::uint64_t& begin);
    table::iterator find_open(slabs_of_kind& all);
    table::iterator add(const slab_kind& of, slabs_of_kind& all, device& where);
    void remove(table::iterator which) noexcept;
    int prefer(std::uint64_t at, std::size_t bytes, std::uint32_t device_id);
    void place_slab(std::uint64_t begin, slab& which, device& where);
    void place_group(std::uint64_t begin, slab& which, std::size_t group, device& where);
    bool is_locked(const slab& which) const;
    static void set_open(slabs_of_kind& all, slab& which, bool open) noexcept;
    static std::size_t find_cell(const slab& from);
    static cell_state use_cell(slab& from, std::size_t index);
    static void make_stale(slab& which, std::size_t group) noexcept;
    void renew(std::uint64_t begin, slab& which) noexcept;
    void renew_groups(std::uint64_t begin, slab& which, std::size_t first,
                      std::size_t end) noexcept;

    chosen_machine& machine_;
    mutable std::mutex lock_;
    table table_{own_pool()};
    left_mappings<table> left_{table(own_pool())};
    std::pmr::map<slab_kind, slabs_of_kind> kinds_{own_pool()};
};

} // namespace hmmrt
