// SPDX-License-Identifier: MIT
/*
 * Address ranges that device code may not remap: slots, and the stacks it runs on.
 *
 * Parked threads look here while executing forwarded calls; they may take no lock,
 * so the table is a fixed array of atomics. Ranges are added before the lanes that
 * could violate them run, and removed after.
 */
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace hmmrt {

class guarded_ranges {
  public:
    static constexpr std::size_t capacity = 4096; // devices * (lanes + slot), with room

    bool add(std::uint64_t begin, std::uint64_t end);
    void remove(std::uint64_t begin);
    bool touches(std::uint64_t begin, std::uint64_t bytes) const;

  private:
    struct range {
        std::atomic<std::uint64_t> begin{0};
        std::atomic<std::uint64_t> end{0}; ///< 0: free
    };
    range ranges_[capacity];
    std::atomic<std::size_t> used_{0}; ///< entries ever used
};

/// True if call @number would unmap, replace or change memory in @guarded, or take @break_signal.
bool call_is_guarded(std::int64_t number, const std::uint64_t (&args)[6],
                     const guarded_ranges& guarded, int break_signal);

} // namespace hmmrt
