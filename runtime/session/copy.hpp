// SPDX-License-Identifier: MIT
/*
 * Copies and fills as launches. Like a copy engine, a single lane executes each
 * copy piece by piece, so the other lanes remain available to other work.
 *
 * 2D and 3D copies and fills work like contiguous ones, but an item is 64 KiB
 * of the copied bytes, regardless of how these are spread over rows.
 */
#pragma once

#include "session/staging.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace hmmrt {

/// Common first member of the closures of copies and fills.
struct copy_head {
    staged_bytes staged; ///< owns the copy of the source if that was staged
};

/// The arguments of a copy or of a byte fill.
class copy_closure : copy_head {
  public:
    /// The smallest unit that a device fault migrates; a piece consists of
    /// whole items.
    static constexpr std::size_t item_bytes = 64 << 10;

    static void run(void* raw, std::uint64_t begin, std::uint64_t end) noexcept;
    /// Works for all closures that begin with a copy_head.
    static void destroy(void* closure);

    struct deleter {
        void operator()(void* closure) const { destroy(closure); }
    };
    using pointer = std::unique_ptr<void, deleter>;
    /// If @staged isn't empty, copies the source there now, and uses that copy.
    static pointer copy(void* to, const void* from, std::size_t bytes, staged_bytes staged = {});
    static pointer fill(void* to, int value, std::size_t bytes);

    static std::uint64_t items(std::size_t bytes) {
        return bytes / item_bytes + (bytes % item_bytes != 0 ? 1 : 0);
    }

  private:
    static pointer create(void* to, const void* from, int value, std::size_t bytes,
                          staged_bytes staged);

    char* to_;
    const char* from_; ///< NULL for a fill
    std::size_t bytes_;
    int value_;
};

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
