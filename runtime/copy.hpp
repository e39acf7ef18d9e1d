// SPDX-License-Identifier: MIT
// Copies and fills as launches. Like a copy engine, a single lane executes each
// copy piece by piece, so the other lanes remain available to other work.
#pragma once

#include "staging.hpp"

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

} // namespace hmmrt
