// SPDX-License-Identifier: MIT
/*
 * Chooses the address of the slot.
 *
 * The address must be free in the application. It also must not be reserved by
 * convention: sanitizers own fixed parts of the address space even before they
 * map them.
 */
#pragma once

#include "sys/fd.hpp"

#include <cstdint>

namespace hmmrt {

inline constexpr std::uint32_t slot_candidates = 256;

/// Candidate address @index, in order of preference. Under TSan only the last
/// ones are free, because it reserves everything except for program memory.
constexpr std::uint64_t slot_candidate(std::uint32_t index) {
    constexpr std::uint64_t bases[] = {0x2a0000000000, 0x480000000000, 0x680000000000,
                                       0x7e9000000000};
    constexpr std::uint64_t step = 1u << 30;
    constexpr std::uint32_t each = slot_candidates / 4;
    return bases[index / each % 4] + index % each * step;
}

/// Reserves a free slot; throws failure if no candidate is free.
mapping reserve_slot();

} // namespace hmmrt
