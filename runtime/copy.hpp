// SPDX-License-Identifier: MIT
// Copies and fills as launches. As with a copy engine, one lane makes each, piece by piece,
// and leaves the others to what runs beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace hmmrt {

/// The arguments of a copy or of a fill with a byte.
class copy_closure {
  public:
    /// The least that a device fault moves; pieces are of whole items.
    static constexpr std::size_t item_bytes = 64 << 10;

    static void run(void* raw, std::uint64_t begin, std::uint64_t end) noexcept;
    static void destroy(void* closure);

    struct deleter {
        void operator()(void* closure) const { destroy(closure); }
    };
    using pointer = std::unique_ptr<void, deleter>;
    static pointer copy(void* to, const void* from, std::size_t bytes);
    static pointer fill(void* to, int value, std::size_t bytes);

    static std::uint64_t items(std::size_t bytes) {
        return bytes / item_bytes + (bytes % item_bytes != 0 ? 1 : 0);
    }

  private:
    static pointer create(void* to, const void* from, int value, std::size_t bytes);

    char* to_;
    const char* from_; ///< NULL: fill
    std::size_t bytes_;
    int value_;
};

} // namespace hmmrt
