// SPDX-License-Identifier: MIT
#include "base/own_memory.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

namespace hmmrt {
namespace {

/// Ranges that couldn't be unmapped. Each range contains its own list entry, at
/// its start.
struct left_mapping {
    left_mapping* next;
    std::size_t bytes;
};

constexpr int failures_max = 8;

constinit std::mutex left_lock;
constinit left_mapping* left = nullptr;

/// Also unmaps the inaccessible pages around the range. May fail, because splitting a mapping needs
/// another one, and their number is limited (vm.max_map_count).
bool unmap_inner(std::uint64_t inner, std::size_t bytes) {
    return sys::unmap(inner - page_size, bytes + 2 * page_size) >= 0;
}

void retry_left() {
    int failures = 0;
    left_mapping** link = &left;
    while (*link != nullptr && failures < failures_max) {
        left_mapping* const each = *link;
        left_mapping* const next = each->next;
        if (unmap_inner(reinterpret_cast<std::uint64_t>(each), each->bytes)) {
            *link = next;
        } else {
            failures++;
            link = &each->next;
        }
    }
}

/// A pool of small objects, with sizes in multiples of `unit`. Freed memory is
/// reused for objects of the same size. There are no tables that have to grow:
/// an allocation either succeeds or throws std::bad_alloc. We don't use
/// libstdc++'s pools, because these return NULL, or read through it, when one
/// of their tables can't grow.
class locked_pool final : public std::pmr::memory_resource, public in_own_memory {
    static constexpr std::size_t unit = 16;
    static constexpr std::size_t largest = 4096;
    static constexpr std::size_t first_chunk = 64 << 10;
    static constexpr std::size_t last_chunk = 1 << 20;

    struct free_object {
        free_object* next;
    };

    /// Larger objects have their own, page-aligned mappings. No caller needs
    /// more alignment than that.
    static bool is_small(std::size_t bytes, std::size_t alignment) {
        return bytes <= largest && alignment <= unit;
    }
    static std::size_t whole_units(std::size_t bytes) {
        return std::max(bytes + unit - 1, unit) / unit * unit;
    }

    void push(void* memory, std::size_t bytes) {
        free_object*& first = free_[bytes / unit];
        first = new (memory) free_object{first};
    }

    void add_chunk() {
        std::byte* const fresh = own_memory_allocator<std::byte>().allocate(next_chunk_);
        while (rest_bytes_ > 0) {
            const std::size_t part = std::min(rest_bytes_, largest);
            push(rest_, part);
            rest_ += part;
            rest_bytes_ -= part;
        }
        rest_ = fresh;
        rest_bytes_ = next_chunk_;
        next_chunk_ = std::min(2 * next_chunk_, last_chunk);
    }

    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (!is_small(bytes, alignment)) return own_memory_allocator<std::byte>().allocate(bytes);
        const std::size_t whole = whole_units(bytes);
        const std::lock_guard lock(lock_);
        if (free_object* const first = free_[whole / unit]) {
            free_[whole / unit] = first->next;
            return first;
        }
        if (rest_bytes_ < whole) add_chunk();
        rest_bytes_ -= whole;
        return std::exchange(rest_, rest_ + whole);
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
        if (!is_small(bytes, alignment))
            return own_memory_allocator<std::byte>().deallocate(static_cast<std::byte*>(memory),
                                                                bytes);
        const std::lock_guard lock(lock_);
        push(memory, whole_units(bytes));
    }
    bool do_is_equal(const memory_resource& other) const noexcept override {
        return this == &other;
    }

    std::mutex lock_;
    std::array<free_object*, largest / unit + 1> free_ = {}; ///< indexed by units
    std::byte* rest_ = nullptr;                              ///< unused part of the last chunk
    std::size_t rest_bytes_ = 0;
    std::size_t next_chunk_ = first_chunk;
};

} // namespace

void unmap_own_memory(std::uint64_t inner, std::size_t bytes) noexcept {
    const std::lock_guard lock(left_lock);
    if (unmap_inner(inner, bytes)) return retry_left();
    if (bytes > page_size) sys::advise(inner + page_size, bytes - page_size, MADV_DONTNEED);
    left = new (reinterpret_cast<void*>(inner)) left_mapping{left, bytes};
}

std::pmr::memory_resource* own_pool() {
    static locked_pool* const instance = new locked_pool;
    return instance;
}

} // namespace hmmrt
