// SPDX-License-Identifier: MIT
/*
 * 2D and 3D copies and fills, as launches. They work like contiguous copies,
 * but an item is 64 KiB of the copied bytes, regardless of how these are spread
 * over rows.
 */
#pragma once

#include "copy.hpp"

#include <cstddef>
#include <cstdint>

namespace hmmrt {

/// Size of a box: layers of rows of bytes.
struct box_size {
    std::size_t width;
    std::size_t height;
    std::size_t depth;

    bool empty() const { return width == 0 || height == 0 || depth == 0; }
};

/// Start address of a box, and the distances between its rows and layers.
struct box_memory {
    char* begin;
    std::size_t pitch;
    /// bytes from one layer to the next; ignored for a depth of 1
    std::size_t layer;
};

class box_closure : copy_head {
  public:
    static void run(void* raw, std::uint64_t begin, std::uint64_t end) noexcept;

    /// copy_closure::destroy() destroys the closure. If @staged isn't empty,
    /// copies the source there now, and uses that copy.
    static copy_closure::pointer copy(const box_memory& to, const box_memory& from,
                                      const box_size& size, staged_bytes staged = {});
    static copy_closure::pointer fill(const box_memory& to, int value, const box_size& size);

  private:
    static copy_closure::pointer create(box_closure made);
    void take_source(const box_memory& packed);
    void work_on_row(std::size_t row, std::size_t column, std::size_t bytes) const;

    box_memory to_;
    box_memory from_; ///< NULL begin: a fill
    box_size size_;
    int value_;
};

} // namespace hmmrt
