// SPDX-License-Identifier: MIT
#include "memory/managed_memory.hpp"

#include "base/failure.hpp"
#include "machine/machine.hpp"
#include "session/device.hpp"
#include "sys/syscalls.hpp"

#include <limits>
#include <new>
#include <sys/mman.h>

namespace hmmrt {
namespace {

constexpr std::uint64_t huge_page_size = 2 << 20;

constexpr auto bytes_to_unmap = [](const allocation& each) { return each.bytes; };

} // namespace

std::size_t managed_memory::rounded(std::size_t bytes, memory_kind kind) {
    if (bytes > std::numeric_limits<std::size_t>::max() - 2 * huge_page_size)
        throw std::bad_alloc();
    if (const std::size_t cell = slab_table::cell_size(bytes, kind); cell != 0) return cell;
    return (bytes + page_size - 1) & ~(page_size - 1);
}

/// Maps aligned memory: maps more than needed, and then unmaps the excess.
std::uint64_t managed_memory::map_own(std::size_t whole) {
    const std::uint64_t alignment = whole >= huge_page_size ? huge_page_size : page_size;
    const std::size_t reserve = whole + alignment - page_size;
    {
        const std::lock_guard lock(lock_);
        left_.retry(bytes_to_unmap);
    }
    const std::int64_t result =
        sys::map(0, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (result < 0) throw std::bad_alloc();
    const auto begin = static_cast<std::uint64_t>(result);
    const std::uint64_t aligned = (begin + alignment - 1) & ~(alignment - 1);
    const std::uint64_t end = aligned + whole, tail = begin + reserve - end;
    if (aligned > begin && sys::unmap(begin, aligned - begin) < 0) keep(begin, aligned - begin);
    if (tail > 0 && sys::unmap(end, tail) < 0) keep(end, tail);
    return aligned;
}

/// Remembers memory that couldn't be unmapped. If there isn't enough memory for
/// that, it stays mapped, but its pages are already freed.
void managed_memory::keep(std::uint64_t begin, std::size_t bytes) noexcept {
    try {
        table one(own_pool());
        one.emplace(begin, allocation{begin, bytes, memory_kind::managed, 0, nullptr});
        const std::lock_guard lock(lock_);
        left_.add(one.extract(one.begin()));
    } catch (const std::bad_alloc&) {
        return;
    }
}

/// Makes the device the preferred location of whole pages.
void managed_memory::prefer_device(const memory_place& given, device& where) {
    where.start();
    check_memory_call("advice", machine_.get().place(given.begin, given.bytes, where.id()));
}

memory_place managed_memory::map(std::size_t bytes, memory_kind kind, device& where, bool zeroed) {
    const std::size_t whole = rounded(bytes, kind);
    if (const auto cell = slabs_.take(bytes, kind, where, zeroed)) return {*cell, whole};
    const std::size_t pages = (whole + page_size - 1) & ~(page_size - 1);
    const memory_place own = {map_own(pages), pages};
    if (kind != memory_kind::device) return own;
    try {
        prefer_device(own, where);
    } catch (...) {
        end(own);
        throw;
    }
    return own;
}

void managed_memory::place(const memory_place& given, device& where) {
    if (slabs_.has(given.begin)) return slabs_.place(given.begin, where);
    prefer_device(given, where);
}

bool managed_memory::unmap(const memory_place& gone) noexcept {
    if (!slabs_.has(gone.begin)) return unmap_allocated(machine_.get(), gone.begin, gone.bytes);
    slabs_.give(gone.begin);
    return true;
}

void managed_memory::end(const memory_place& gone) noexcept {
    if (!unmap(gone)) keep(gone.begin, gone.bytes);
}

void managed_memory::add(const allocation& given) {
    const std::lock_guard lock(lock_);
    table_.emplace(given.begin, given);
}

allocation managed_memory::allocate(std::size_t bytes, memory_kind kind, device& where) {
    const memory_place found = map(bytes, kind, where, true);
    allocation given = {found.begin, found.bytes, kind, where.number(), nullptr};
    try {
        add(given);
    } catch (...) {
        end(found);
        throw;
    }
    return given;
}

/// Removes the entry of the allocation before unmapping, because another thread
/// may get the addresses right after that. If unmapping fails, keeps the entry
/// for a retry.
void managed_memory::release(const allocation& gone) noexcept {
    auto entry = [&] {
        const std::lock_guard lock(lock_);
        return ending_.extract(gone.begin);
    }();
    const bool unmapped = unmap({gone.begin, gone.bytes});
    const std::lock_guard lock(lock_);
    if (!unmapped)
        left_.add(std::move(entry));
    else if (!left_.empty())
        left_.retry(bytes_to_unmap);
}

std::optional<allocation> managed_memory::find(const void* ptr) const {
    const auto at = reinterpret_cast<std::uint64_t>(ptr);
    const std::lock_guard lock(lock_);
    auto found = table_.upper_bound(at);
    if (found == table_.begin() || at - (--found)->first >= found->second.bytes)
        return std::nullopt;
    return found->second;
}

} // namespace hmmrt
