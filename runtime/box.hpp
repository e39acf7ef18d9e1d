// SPDX-License-Identifier: MIT
/*
 * Copies and fills of rows in layers, as launches: like those of bytes that lie side by side, but
 * items are 64 KiB of what is copied, wherever its rows are.
 */
#pragma once

#include "copy.hpp"

#include <cstddef>
#include <cstdint>

namespace hmmrt {

/// Of rows of bytes, in layers of rows.
struct box_size {
    std::size_t width;
    std::size_t height;
    std::size_t depth;

    bool empty() const { return width == 0 || height == 0 || depth == 0; }
};

/// Where a box begins, and how far its rows and layers are apart.
struct box_place {
    char* begin;
    std::size_t pitch;
    std::size_t layer; ///< bytes from one layer to the next; for a depth of 1 any
};

class box_closure {
  public:
    static void run(void* raw, std::uint64_t begin, std::uint64_t end) noexcept;

    /// For copy_closure::destroy().
    static copy_closure::pointer copy(const box_place& to, const box_place& from,
                                      const box_size& size);
    static copy_closure::pointer fill(const box_place& to, int value, const box_size& size);

  private:
    static copy_closure::pointer create(const box_closure& made);
    void work_on_row(std::size_t row, std::size_t column, std::size_t bytes) const;

    box_place to_;
    box_place from_; ///< begin NULL: fill
    box_size size_;
    int value_;
};

} // namespace hmmrt
