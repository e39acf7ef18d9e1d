// SPDX-License-Identifier: MIT
#include "managed_memory.hpp"

#include "process.hpp"
#include "sys/syscalls.hpp"

#include <limits>
#include <new>
#include <sys/mman.h>

namespace hmmrt {
namespace {

constexpr std::uint64_t huge_page_size = 2 << 20;

/// Maps aligned memory: reserves @bytes + @alignment - a page, and unmaps the
/// excess.
std::uint64_t map_aligned(std::size_t bytes, std::uint64_t alignment) {
    const std::size_t reserve = bytes + alignment - page_size;
    const std::int64_t result =
        sys::map(0, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (result < 0) throw std::bad_alloc();
    const auto begin = static_cast<std::uint64_t>(result);
    const std::uint64_t aligned = (begin + alignment - 1) & ~(alignment - 1);
    const std::uint64_t tail = begin + reserve - (aligned + bytes);
    if (aligned > begin) sys::unmap(begin, aligned - begin);
    if (tail > 0) sys::unmap(aligned + bytes, tail);
    return aligned;
}

} // namespace

std::size_t managed_memory::whole_pages(std::size_t bytes) {
    if (bytes > std::numeric_limits<std::size_t>::max() - 2 * huge_page_size)
        throw std::bad_alloc();
    return (bytes + page_size - 1) & ~(page_size - 1);
}

std::uint64_t managed_memory::map(std::size_t whole) {
    return map_aligned(whole, whole >= huge_page_size ? huge_page_size : page_size);
}

void managed_memory::unmap(std::uint64_t begin, std::size_t whole) {
    // before another thread can get these addresses
    process::get().where().unmapped(begin, whole);
    sys::unmap(begin, whole);
}

void managed_memory::add(const allocation& given) {
    const std::lock_guard lock(lock_);
    table_.emplace(given.begin, given);
}

void* managed_memory::allocate(std::size_t bytes, memory_kind kind, int device) {
    const std::size_t whole = whole_pages(bytes);
    const allocation given = {map(whole), whole, kind, device, nullptr};
    try {
        add(given);
    } catch (...) {
        unmap(given.begin, whole);
        throw;
    }
    return given.memory();
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
