// SPDX-License-Identifier: MIT
#include "registered_memory.hpp"

#include "failure.hpp"
#include "memory_range.hpp"

#include <algorithm>
#include <cerrno>
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

} // namespace

bool registered_memory::overlaps(std::uint64_t begin, std::size_t bytes) const {
    const auto next = table_.lower_bound(begin);
    if (next != table_.end() && next->first - begin < bytes) return true;
    if (next == table_.begin()) return false;
    const auto before = std::prev(next);
    return begin - before->first < before->second.bytes;
}

/// Those that its neighbours do not need.
void registered_memory::unlock_own_pages(table::iterator of) {
    const page_range all = pages_of(of->first, of->second.bytes);
    std::uint64_t begin = all.addr, end = all.addr + all.len;
    if (of != table_.begin()) {
        const auto before = std::prev(of);
        const page_range theirs = pages_of(before->first, before->second.bytes);
        begin = std::max(begin, theirs.addr + theirs.len);
    }
    if (const auto after = std::next(of); after != table_.end())
        end = std::min(end, pages_of(after->first, 1).addr);
    if (begin < end) sys::unlock_memory(begin, end - begin);
}

void registered_memory::add(const void* ptr, std::size_t bytes, unsigned flags) {
    const page_range pages = pages_around(ptr, bytes);
    const auto begin = reinterpret_cast<std::uint64_t>(ptr);
    const std::lock_guard lock(lock_);
    if (overlaps(begin, bytes))
        throw failure(hmmErrorHostMemoryAlreadyRegistered,
                      hmmGetErrorString(hmmErrorHostMemoryAlreadyRegistered));
    require(sys::is_mapped(pages.addr, pages.len), "part of the range is not mapped");
    const auto added = table_.emplace(begin, registration{bytes, flags}).first;
    const int error = sys::lock_memory(pages.addr, pages.len);
    if (error >= 0) return;
    unlock_own_pages(added); // some may be locked
    table_.erase(added);
    throw_lock_error(error);
}

void registered_memory::remove(const void* ptr) {
    const std::lock_guard lock(lock_);
    const auto found = table_.find(reinterpret_cast<std::uint64_t>(ptr));
    if (found == table_.end())
        throw failure(hmmErrorHostMemoryNotRegistered,
                      hmmGetErrorString(hmmErrorHostMemoryNotRegistered));
    unlock_own_pages(found);
    table_.erase(found);
}

std::optional<unsigned> registered_memory::flags_of(const void* ptr) const {
    const auto at = reinterpret_cast<std::uint64_t>(ptr);
    const std::lock_guard lock(lock_);
    const auto next = table_.upper_bound(at);
    if (next == table_.begin()) return std::nullopt;
    const auto found = std::prev(next);
    if (at - found->first >= found->second.bytes) return std::nullopt;
    return found->second.flags;
}

} // namespace hmmrt
