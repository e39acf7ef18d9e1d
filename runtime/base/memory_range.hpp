// SPDX-License-Identifier: MIT
// Converts memory ranges of programs to page ranges of the kernel interface.
#pragma once

#include "agent/control.h"
#include "base/failure.hpp"

#include <cstddef>
#include <cstdint>

namespace hmmrt {

/// A range of whole pages.
struct page_range {
    std::uint64_t addr;
    std::uint64_t len;

    std::size_t pages() const { return len / page_size; }
};

/// Returns all pages that the range touches. Throws failure.
inline page_range pages_around(const void* ptr, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uint64_t>(ptr);
    require(bytes > 0, "the size is 0");
    require(begin + bytes > begin && begin + bytes <= user_space_end,
            "the range exceeds the address space");
    const std::uint64_t first = begin & ~(page_size - 1);
    return {first, ((begin + bytes + page_size - 1) & ~(page_size - 1)) - first};
}

/// Returns the pages that are entirely inside the range, possibly none. Throws
/// failure.
inline page_range pages_inside(const void* ptr, std::size_t bytes) {
    pages_around(ptr, bytes);
    const auto begin = reinterpret_cast<std::uint64_t>(ptr);
    const std::uint64_t first = (begin + page_size - 1) & ~(page_size - 1);
    const std::uint64_t end = (begin + bytes) & ~(page_size - 1);
    return {first, end > first ? end - first : 0};
}

} // namespace hmmrt
