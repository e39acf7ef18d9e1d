// SPDX-License-Identifier: MIT
/*
 * Where the slot goes.
 *
 * It has to be free in the application, and nobody else's by convention:
 * sanitizers own fixed parts of the address space even before they map them.
 */
#pragma once

#include "sys/fd.hpp"

#include <cstdint>

namespace hmmrt {

inline constexpr std::uint32_t slot_candidates = 192;

/// Candidate @index, best first.
constexpr std::uint64_t slot_candidate(std::uint32_t index) {
    constexpr std::uint64_t bases[] = {0x2a0000000000, 0x480000000000, 0x680000000000};
    constexpr std::uint64_t step = 1u << 30;
    constexpr std::uint32_t each = slot_candidates / 3;
    return bases[index / each % 3] + index % each * step;
}

/// Reserves a slot that is free; throws failure if there is none.
mapping reserve_slot();

} // namespace hmmrt
