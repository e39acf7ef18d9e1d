// SPDX-License-Identifier: MIT
#include "memory/slabs.hpp"

#include "base/failure.hpp"
#include "machine/machine.hpp"
#include "memory/unmapping.hpp"
#include "session/device.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <new>
#include <sys/mman.h>

namespace hmmrt {
namespace {

constexpr std::size_t smallest_cell = 256;
constexpr std::size_t largest_part = page_size / 2; ///< largest cell that shares its page
constexpr std::size_t largest_cell = 64 << 10;
constexpr std::size_t smallest_slab = 64 << 10;
constexpr std::size_t largest_slab = 2 << 20;
constexpr std::size_t stale_bytes_max = 64 << 10;
constexpr int tries_max = 4;

/// A new slab has at most a quarter of the memory that its kind already has,
/// within limits.
std::size_t slab_size(std::size_t there) {
    return std::clamp(std::bit_floor(there / 4), smallest_slab, largest_slab);
}

std::int64_t map_pages(std::uint64_t at, std::size_t bytes) {
    const int fixed = at != 0 ? MAP_FIXED : 0;
    return sys::map(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1);
}

} // namespace

slab_table::slab::slab(const slab_kind& kind, std::size_t cell, std::size_t count)
    : of(kind),
      cell_bytes(cell),
      group_cells(std::max<std::size_t>(page_size / cell, 1)),
      cells(count, cell_state::zero, own_pool()),
      used_of_group(count / group_cells, 0, own_pool()),
      placed(count / group_cells, 0, own_pool()),
      free(count) {}

std::size_t slab_table::cell_size(std::size_t bytes, memory_kind kind) {
    if (bytes <= largest_part) return std::max(smallest_cell, std::bit_ceil(bytes));
    // Whole pages of pinned memory would stay locked longer than needed.
    if (bytes > largest_cell || kind == memory_kind::host) return 0;
    return (bytes + page_size - 1) & ~(page_size - 1);
}

slab_table::table::const_iterator slab_table::containing(std::uint64_t address) const {
    const auto next = table_.upper_bound(address);
    if (next == table_.begin()) return table_.end();
    const auto found = std::prev(next);
    return address - found->first < found->second.bytes() ? found : table_.end();
}

slab_table::slab& slab_table::slab_of(std::uint64_t cell, std::uint64_t& begin) {
    const auto found = std::prev(table_.upper_bound(cell));
    begin = found->first;
    return found->second;
}

bool slab_table::has(std::uint64_t address) const {
    const std::lock_guard lock(lock_);
    return containing(address) != table_.end();
}

void slab_table::set_open(slabs_of_kind& all, slab& which, bool open) noexcept {
    if (which.open == open) return;
    which.open = open;
    address_list& from = open ? all.full : all.open;
    address_list& to = open ? all.open : all.full;
    to.splice(to.begin(), from, which.listed);
}

/// Slabs that can't be renewed now move to the end of the list.
slab_table::table::iterator slab_table::find_open(slabs_of_kind& all) {
    for (int i = 0; i < tries_max && !all.open.empty(); i++) {
        const auto found = table_.find(all.open.front());
        if (found->second.free == 0) renew(found->first, found->second);
        if (found->second.free > 0) return found;
        all.open.splice(all.open.end(), all.open, all.open.begin());
    }
    return table_.end();
}

int slab_table::prefer(std::uint64_t at, std::size_t bytes, std::uint32_t device_id) {
    hmmrt_advise request = {};
    request.addr = at;
    request.len = bytes;
    request.advice = HMMRT_ADVICE_SET_PREFERRED_LOCATION;
    request.location = device_id;
    return machine_.get().advise(request);
}

void slab_table::place_slab(std::uint64_t begin, slab& which, device& where) {
    if (which.type() != memory_kind::device) return;
    check_memory_call("advice", machine_.get().place(begin, which.bytes(), which.device_id));
    std::fill(which.placed.begin(), which.placed.end(), where.starts());
}

/// Only places this group, because the program may have advised others
/// differently.
void slab_table::place_group(std::uint64_t begin, slab& which, std::size_t group, device& where) {
    const std::size_t bytes = which.group_bytes();
    check_memory_call("advice", prefer(begin + group * bytes, bytes, which.device_id));
    which.placed[group] = where.starts();
}

bool slab_table::is_locked(const slab& which) const {
    return which.type() == memory_kind::host && !machine_.get().shares_page_tables();
}

/// Returns the end of the table if there isn't enough memory for another slab.
slab_table::table::iterator slab_table::add(const slab_kind& of, slabs_of_kind& all,
                                            device& where) {
    left_.retry([](const slab& each) { return each.bytes(); });
    const std::size_t cell = std::get<std::size_t>(of);
    const std::size_t count = std::max<std::size_t>(slab_size(all.bytes) / cell, 1);
    table added(own_pool());
    address_list listed(own_pool());
    slab& fresh = added
                      .emplace(std::piecewise_construct, std::forward_as_tuple(0),
                               std::forward_as_tuple(of, cell, count))
                      .first->second;
    listed.push_back(0);
    const std::int64_t result = map_pages(0, fresh.bytes());
    if (result < 0) return table_.end();

    // Up to placing and locking, nothing below allocates.
    auto node = added.extract(added.begin());
    node.key() = listed.front() = static_cast<std::uint64_t>(result);
    fresh.device_id = where.id();
    fresh.listed = listed.begin();
    all.bytes += fresh.bytes();
    all.open.splice(all.open.begin(), listed);
    const auto found = table_.insert(std::move(node)).position;
    try {
        place_slab(found->first, fresh, where);
        if (!is_locked(fresh) || sys::lock_memory(found->first, fresh.bytes()) >= 0) return found;
    } catch (...) {
        // the caller tries a mapping of its own next, and reports that error
    }
    remove(found);
    return table_.end();
}

void slab_table::remove(table::iterator which) noexcept {
    slab& gone = which->second;
    slabs_of_kind& all = kinds_.find(gone.of)->second;
    all.bytes -= gone.bytes();
    (gone.open ? all.open : all.full).erase(gone.listed);
    if (is_locked(gone)) sys::unlock_memory(which->first, gone.bytes());
    const bool unmapped = unmap_allocated(machine_.get(), which->first, gone.bytes());
    auto node = table_.extract(which);
    if (!unmapped) left_.add(std::move(node));
}

std::size_t slab_table::find_cell(const slab& from) {
    const auto usable = [](cell_state each) { return each <= cell_state::old; };
    const auto first = from.cells.begin() + static_cast<std::ptrdiff_t>(from.first);
    return static_cast<std::size_t>(std::find_if(first, from.cells.end(), usable) -
                                    from.cells.begin());
}

/// Returns the previous state of the cell.
slab_table::cell_state slab_table::use_cell(slab& from, std::size_t index) {
    from.first = index + 1;
    from.used_of_group[index / from.group_cells]++;
    from.used++;
    from.free--;
    return std::exchange(from.cells[index], cell_state::used);
}

std::optional<std::uint64_t> slab_table::take(std::size_t bytes, memory_kind kind, device& where,
                                              bool zeroed) {
    const std::size_t cell = cell_size(bytes, kind);
    if (cell == 0) return std::nullopt;
    const slab_kind of = {kind, kind == memory_kind::device ? where.number() : 0, cell};
    cell_state before;
    std::uint64_t address;
    {
        const std::lock_guard lock(lock_);
        slabs_of_kind& all = kinds_[of];
        auto found = find_open(all);
        if (found == table_.end()) found = add(of, all, where);
        if (found == table_.end()) return std::nullopt;
        auto& [begin, from] = *found;
        const std::size_t index = find_cell(from), group = index / from.group_cells;
        if (kind == memory_kind::device && from.placed[group] != where.starts())
            place_group(begin, from, group, where);
        before = use_cell(from, index);
        address = begin + index * cell;
        if (from.free == 0 && from.stale == 0) set_open(all, from, false);
    }
    if (zeroed && before == cell_state::old) std::memset(reinterpret_cast<void*>(address), 0, cell);
    return address;
}

void slab_table::place(std::uint64_t cell, device& where) {
    const std::lock_guard lock(lock_);
    std::uint64_t begin;
    slab& of = slab_of(cell, begin);
    const std::size_t group = (cell - begin) / of.group_bytes();
    if (of.used_of_group[group] == 1 || of.placed[group] != where.starts())
        place_group(begin, of, group, where);
}

/// All cells of the group must be free.
void slab_table::make_stale(slab& which, std::size_t group) noexcept {
    const std::size_t first = group * which.group_cells;
    for (std::size_t i = first; i < first + which.group_cells; i++)
        which.cells[i] = cell_state::stale;
    which.free -= which.group_cells;
    which.stale++;
}

void slab_table::give(std::uint64_t cell) noexcept {
    const std::lock_guard lock(lock_);
    std::uint64_t begin;
    slab& of = slab_of(cell, begin);
    const std::size_t index = (cell - begin) / of.cell_bytes;
    const std::size_t group = index / of.group_cells;
    of.cells[index] = cell_state::old;
    of.first = std::min(of.first, index);
    of.free++;
    of.used--;
    of.used_of_group[group]--;
    set_open(kinds_.find(of.of)->second, of, true);
    if (of.used == 0 && !of.has_gone) return remove(table_.find(begin));
    if (of.used_of_group[group] == 0 && of.type() != memory_kind::host) make_stale(of, group);
    if (of.stale * of.group_bytes() >= stale_bytes_max) renew(begin, of);
}

/// Maps stale groups anew.
void slab_table::renew(std::uint64_t begin, slab& which) noexcept {
    const auto is_stale = [&](std::size_t group) {
        return which.cells[group * which.group_cells] == cell_state::stale;
    };
    const std::size_t groups = which.used_of_group.size();
    for (std::size_t first = 0; which.stale > 0 && first < groups; first++) {
        std::size_t end = first;
        while (end < groups && is_stale(end))
            end++;
        if (end == first) continue;
        renew_groups(begin, which, first, end);
        first = end;
    }
}

/// If this fails, the pages normally stay as they are. But if the kernel ran
/// out of memory after unmapping them, they are gone, and another thread may
/// get their addresses.
void slab_table::renew_groups(std::uint64_t begin, slab& which, std::size_t first,
                              std::size_t end) noexcept {
    const std::uint64_t at = begin + first * which.group_bytes();
    const std::size_t bytes = (end - first) * which.group_bytes();
    const std::size_t first_cell = first * which.group_cells, end_cell = end * which.group_cells;
    machine& of = machine_.get();
    of.unmapped(at, bytes);
    const bool mapped = map_pages(at, bytes) >= 0;
    if (!mapped && sys::is_mapped(at, bytes)) return;
    for (std::size_t i = first_cell; i < end_cell; i++)
        which.cells[i] = mapped ? cell_state::zero : cell_state::gone;
    which.stale -= end - first;
    which.has_gone = which.has_gone || !mapped;
    if (!mapped) return;
    which.free += end_cell - first_cell;
    which.first = std::min(which.first, first_cell);
    if (which.type() != memory_kind::device) return;
    bool preferred = false;
    try {
        preferred = prefer(at, bytes, which.device_id) >= 0;
    } catch (...) {
        preferred = false;
    }
    const auto placed = which.placed.begin();
    if (!preferred) // retry with the next cell
        std::fill(placed + static_cast<std::ptrdiff_t>(first),
                  placed + static_cast<std::ptrdiff_t>(end), 0);
}

} // namespace hmmrt
