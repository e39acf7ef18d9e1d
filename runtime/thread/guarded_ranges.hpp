// SPDX-License-Identifier: MIT
/*
 * Address ranges that device code must not remap: slots and lane stacks.
 *
 * Parked threads look up ranges while they execute forwarded calls. They must
 * not take locks, so the table is a fixed array of atomics. Ranges are added
 * before lanes that could violate them run, and removed after these lanes have
 * ended.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hmmrt {

class guarded_ranges {
  public:
    // devices * (lanes + slot), with margin
    static constexpr std::size_t capacity = 4096;

    bool add(std::uint64_t begin, std::uint64_t end);
    void remove(std::uint64_t begin);
    bool touches(std::uint64_t begin, std::uint64_t bytes) const;

  private:
    struct range {
        std::atomic<std::uint64_t> begin{0};
        std::atomic<std::uint64_t> end{0}; ///< 0: unused
    };
    range ranges_[capacity];
    std::atomic<std::size_t> used_{0}; ///< number of entries ever used
};

/// True if call @number would unmap, replace or change memory in @guarded, or
/// take over @break_signal.
bool call_is_guarded(std::int64_t number, const std::uint64_t (&args)[6],
                     const guarded_ranges& guarded, int break_signal);

} // namespace hmmrt
