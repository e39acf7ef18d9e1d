// SPDX-License-Identifier: MIT
#include "memory/registered_memory.hpp"

#include "base/failure.hpp"
#include "base/memory_range.hpp"
#include "base/proc_maps.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>

namespace hmmrt {
namespace {

[[noreturn]] void throw_lock_error(int error) {
    std::string detail = describe_errno("mlock", error);
    if (error == -ENOMEM || error == -EPERM)
        detail += "; RLIMIT_MEMLOCK is " + std::to_string(sys::locked_memory_limit()) + " bytes";
    throw failure(error == -EPERM ? hmmErrorNotPermitted : hmmErrorMemoryAllocation, detail);
}

page_range pages_of(std::uint64_t begin, std::size_t bytes) {
    return pages_around(reinterpret_cast<const void*>(begin), bytes);
}

/// Returns the locked pages. Only entire mappings are locked; usually there are
/// none.
page_set locked_in(const page_range& pages) {
    page_set locked;
    if (pages.len == 0 || !sys::has_locked(pages.addr, pages.len)) return locked;
    std::string maps;
    // Use this thread's file: if the first thread has ended, the process's file
    // is empty.
    constexpr const char* file = "/proc/thread-self/maps";
    if (const int error = sys::read_whole_file(file, maps); error < 0)
        throw failure(hmmErrorUnknown, describe_errno(file, error));
    for (const mapped_part& part : mappings_in(maps, pages.addr, pages.addr + pages.len))
        if (sys::has_locked(part.begin, part.end - part.begin)) locked.add(part.begin, part.end);
    return locked;
}

/// Locks pages in system memory. The first call checks the limits before any
/// page migrates, and makes sure that pages don't migrate away again before
/// they are locked.
int lock_in_system_memory(const page_range& pages, void (*migrate_back)(const page_range&) noexcept,
                          bool needed) {
    const int error = sys::lock_on_fault(pages.addr, pages.len);
    if (error < 0 && needed) return error;
    migrate_back(pages);
    return error < 0 ? 0 : sys::lock_memory(pages.addr, pages.len);
}

} // namespace

bool registered_memory::overlaps(std::uint64_t begin, std::size_t bytes) const {
    const auto next = table_.lower_bound(begin);
    if (next != table_.end() && next->first - begin < bytes) return true;
    if (next == table_.begin()) return false;
    const auto before = std::prev(next);
    return begin - before->first < before->second.bytes;
}

/// Returns the pages of a registration that it doesn't share with neighbouring
/// ones.
page_range registered_memory::own_pages(std::uint64_t begin, std::size_t bytes) const {
    const page_range all = pages_of(begin, bytes);
    std::uint64_t first = all.addr, end = all.addr + all.len;
    if (const auto at = table_.lower_bound(begin); at != table_.begin()) {
        const auto before = std::prev(at);
        const page_range theirs = pages_of(before->first, before->second.bytes);
        first = std::max(first, theirs.addr + theirs.len);
    }
    if (const auto after = table_.upper_bound(begin); after != table_.end())
        end = std::min(end, pages_of(after->first, 1).addr);
    return {first, first < end ? end - first : 0};
}

void registered_memory::unlock(const page_range& own) noexcept {
    locked_before_.remove(own.addr, own.addr + own.len, [](std::uint64_t begin, std::uint64_t end) {
        sys::unlock_memory(begin, end - begin);
    });
}

void registered_memory::enter(std::uint64_t begin, const registration& fresh) {
    const page_range pages = pages_of(begin, fresh.bytes);
    if (overlaps(begin, fresh.bytes))
        throw failure(hmmErrorHostMemoryAlreadyRegistered,
                      hmmGetErrorString(hmmErrorHostMemoryAlreadyRegistered));
    require(sys::is_mapped(pages.addr, pages.len), "part of the range is not mapped");
    page_set locked;
    if (fresh.locked) locked = locked_in(own_pages(begin, fresh.bytes));
    // Another registration can only share the first or the last page.
    locked.cut(pages.addr + page_size);
    locked.cut(pages.addr + pages.len - page_size);
    table added(own_pool());
    added.emplace(begin, fresh);
    // The following steps don't allocate.
    locked_before_.merge(locked);
    table_.merge(added);
}

void registered_memory::add(const void* ptr, std::size_t bytes, unsigned flags, int device,
                            void (*migrate_back)(const page_range&) noexcept, bool needed) {
    const page_range pages = pages_around(ptr, bytes);
    const auto begin = reinterpret_cast<std::uint64_t>(ptr);
    {
        const std::lock_guard lock(lock_);
        enter(begin, {bytes, flags, device});
    }
    const int error = lock_in_system_memory(pages, migrate_back, needed);
    const std::lock_guard lock(lock_);
    if (error >= 0) {
        table_.find(begin)->second.ready = true;
        return;
    }
    unlock(own_pages(begin, bytes)); // some pages may be locked
    table_.erase(begin);
    throw_lock_error(error);
}

void registered_memory::add_without_lock(const void* ptr, std::size_t bytes, unsigned flags,
                                         int device) {
    pages_around(ptr, bytes);
    const std::lock_guard lock(lock_);
    enter(reinterpret_cast<std::uint64_t>(ptr), {bytes, flags, device, true, false});
}

void registered_memory::remove(const void* ptr) {
    const std::lock_guard lock(lock_);
    const auto found = holding(ptr);
    if (found != table_.end() && found->first != reinterpret_cast<std::uint64_t>(ptr))
        throw failure(hmmErrorInvalidValue,
                      "the address is inside registered memory, but not its start");
    if (found == table_.end())
        throw failure(hmmErrorHostMemoryNotRegistered,
                      hmmGetErrorString(hmmErrorHostMemoryNotRegistered));
    if (found->second.locked) unlock(own_pages(found->first, found->second.bytes));
    table_.erase(found);
}

/// Finds the registration that contains the address, if it is ready.
registered_memory::table::const_iterator registered_memory::holding(const void* ptr) const {
    const auto at = reinterpret_cast<std::uint64_t>(ptr);
    const auto next = table_.upper_bound(at);
    if (next == table_.begin()) return table_.end();
    const auto found = std::prev(next);
    return found->second.ready && at - found->first < found->second.bytes ? found : table_.end();
}

std::optional<registered_memory::table::value_type> registered_memory::find(const void* ptr) const {
    const std::lock_guard lock(lock_);
    const auto found = holding(ptr);
    return found != table_.end() ? std::optional(*found) : std::nullopt;
}

std::optional<unsigned> registered_memory::flags_of(const void* ptr) const {
    const auto found = find(ptr);
    return found ? std::optional(found->second.flags) : std::nullopt;
}

std::optional<int> registered_memory::device_of(const void* ptr) const {
    const auto found = find(ptr);
    return found ? std::optional(found->second.device) : std::nullopt;
}

std::optional<std::pair<std::uint64_t, std::uint64_t>>
registered_memory::ends_of(const void* ptr) const {
    const auto found = find(ptr);
    if (!found) return std::nullopt;
    return std::pair(found->first, found->first + found->second.bytes);
}

} // namespace hmmrt
