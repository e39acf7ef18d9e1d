// SPDX-License-Identifier: MIT
#include "managed_memory.hpp"

#include "sys/syscalls.hpp"

#include <limits>
#include <new>
#include <sys/mman.h>

namespace hmmrt {
namespace {

constexpr std::uint64_t huge_page_size = 2 << 20;

/// Of at least @bytes + @alignment - a page; what is not needed is given back.
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

void* managed_memory::allocate(std::size_t bytes) {
    if (bytes > std::numeric_limits<std::size_t>::max() - 2 * huge_page_size)
        throw std::bad_alloc();
    const std::size_t whole = (bytes + page_size - 1) & ~(page_size - 1);
    const std::uint64_t at =
        map_aligned(whole, whole >= huge_page_size ? huge_page_size : page_size);
    try {
        const std::lock_guard lock(lock_);
        sizes_.emplace(at, whole);
    } catch (...) {
        sys::unmap(at, whole);
        throw;
    }
    return reinterpret_cast<void*>(at);
}

bool managed_memory::contains(const void* ptr) const {
    const auto at = reinterpret_cast<std::uint64_t>(ptr);
    const std::lock_guard lock(lock_);
    auto found = sizes_.upper_bound(at);
    return found != sizes_.begin() && at - (--found)->first < found->second;
}

bool managed_memory::forget(void* memory, std::size_t& bytes) {
    const std::lock_guard lock(lock_);
    const auto found = sizes_.find(reinterpret_cast<std::uint64_t>(memory));
    if (found == sizes_.end()) return false;
    bytes = found->second;
    sizes_.erase(found);
    return true;
}

void managed_memory::release(void* memory, std::size_t bytes) {
    sys::unmap(reinterpret_cast<std::uint64_t>(memory), bytes);
}

} // namespace hmmrt
