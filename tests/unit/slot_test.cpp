// SPDX-License-Identifier: MIT
#include "machine/slot.hpp"

#include <gtest/gtest.h>

using namespace hmmrt;

namespace {

TEST(Slot, CandidatesAreAlignedAndInUserSpace) {
    for (std::uint32_t i = 0; i < slot_candidates; i++) {
        EXPECT_EQ(slot_candidate(i) % slot_size, 0u);
        EXPECT_LT(slot_candidate(i) + slot_size, user_space_end);
    }
    EXPECT_EQ(slot_candidate(0), 0x2a0000000000u);
}

TEST(Slot, CandidatesAvoidSanitizers) {
    constexpr struct {
        std::uint64_t begin, end;
    } taken[] = {
        {0x500000000000, 0x640000000000}, // allocators
        {0x00007fff8000, 0x10007fff8000}, // shadow of AddressSanitizer
        {0x300000000000, 0x340000000000}, // metadata of ThreadSanitizer
    };
    for (std::uint32_t i = 0; i < slot_candidates; i++)
        for (const auto& range : taken)
            EXPECT_TRUE(slot_candidate(i) + slot_size <= range.begin ||
                        slot_candidate(i) >= range.end)
                << std::hex << slot_candidate(i);
}

TEST(Slot, SomeCandidatesAreMemoryOfProgramsUnderTsan) {
    // The rest of the address space is kept by TSan, or by its heap.
    constexpr std::uint64_t begin = 0x7e8000000000, end = 0x7f0000000000;
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; i < slot_candidates; i++)
        if (slot_candidate(i) >= begin && slot_candidate(i) + slot_size <= end) found++;
    EXPECT_GE(found, 16u) << "one for each device";
}

TEST(Slot, CandidatesDoNotOverlap) {
    for (std::uint32_t i = 1; i < slot_candidates; i++)
        EXPECT_GE(slot_candidate(i), slot_candidate(i - 1) + slot_size);
}

TEST(Slot, ReservationsTakeTheNextFreeAddress) {
    const mapping first = reserve_slot();
    const mapping second = reserve_slot();
    EXPECT_EQ(first.bytes(), slot_size);
    EXPECT_NE(first.address(), second.address());
}

} // namespace
