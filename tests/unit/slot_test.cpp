// SPDX-License-Identifier: MIT
// Where the slot may lie, and what is read of /proc/self/maps.
#include "machine/slot.hpp"

#include "base/proc_maps.hpp"

#include <gtest/gtest.h>

using namespace hmmrt;

namespace {

TEST(Slot, CandidatesAreAlignedInUserSpaceAndDoNotOverlap) {
    for (std::uint32_t i = 0; i < slot_candidates; i++) {
        EXPECT_EQ(slot_candidate(i) % slot_size, 0u);
        EXPECT_LT(slot_candidate(i) + slot_size, user_space_end);
        if (i > 0) {
            EXPECT_GE(slot_candidate(i), slot_candidate(i - 1) + slot_size);
        }
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

TEST(Slot, ReservationsTakeTheNextFreeAddress) {
    const mapping first = reserve_slot();
    const mapping second = reserve_slot();
    EXPECT_EQ(first.bytes(), slot_size);
    EXPECT_NE(first.address(), second.address());
}

// ---- mappings

TEST(ProcMaps, FindsVdsoAndItsDataInOrder) {
    const kernel_maps maps = find_kernel_maps(
        "555555554000-555555556000 r--p 00000000 08:01 1234 /bin/app\n"
        "7ffff7fc5000-7ffff7fc9000 r--p 00000000 00:00 0                          [vvar]\n"
        "7ffff7fc9000-7ffff7fcb000 r--p 00000000 00:00 0                          [vvar_vclock]\n"
        "7ffff7fcb000-7ffff7fcd000 r-xp 00000000 00:00 0                          [vdso]\n"
        "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]\n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n");
    ASSERT_EQ(maps.parts.size(), 3u);
    EXPECT_EQ(maps.parts[0].begin, 0x7ffff7fc5000u);
    EXPECT_EQ(maps.parts[1].end, 0x7ffff7fcb000u);
    EXPECT_EQ(maps.parts[2].begin, maps.vdso);
    EXPECT_EQ(maps.vdso, 0x7ffff7fcb000u);
}

TEST(ProcMaps, WithoutVdsoThereIsNothingToMove) {
    const kernel_maps none = find_kernel_maps("7000-8000 r--p 00000000 00:00 0 [vvar]\n");
    EXPECT_EQ(none.vdso, 0u);
    EXPECT_TRUE(none.parts.empty());
    EXPECT_TRUE(find_kernel_maps("\nnonsense [vdso]\n1000- [vdso]").parts.empty());
    const kernel_maps maps = find_kernel_maps("1000-2000 r--p 00000000 08:01 99 /home/user/[vdso]\n"
                                              "3000-4000 r-xp 00000000 00:00 0 [vdso]\n");
    ASSERT_EQ(maps.parts.size(), 1u) << "a file of that name is not mistaken for it";
    EXPECT_EQ(maps.vdso, 0x3000u);
}

TEST(ProcMaps, TellsWhichPartsOfARangeAreAMappingEach) {
    constexpr std::string_view text = "1000-3000 rw-p 00000000 00:00 0\n"
                                      "nonsense\n"
                                      "3000-5000 rw-p 00000000 00:00 0 [heap]\n"
                                      "7000-9000 r--s 00000000 08:01 99 /some/file\n"
                                      "9000-a000 rw-p 00000000 00:00 0\n";
    const auto parts = [&](std::uint64_t begin, std::uint64_t end) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
        for (const mapped_part& part : mappings_in(text, begin, end))
            found.emplace_back(part.begin, part.end);
        return found;
    };
    using list = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
    EXPECT_EQ(parts(0x2000, 0x8000), (list{{0x2000, 0x3000}, {0x3000, 0x5000}, {0x7000, 0x8000}}));
    EXPECT_EQ(parts(0x3000, 0x5000), (list{{0x3000, 0x5000}}));
    EXPECT_EQ(parts(0x5000, 0x7000), list{});
    EXPECT_EQ(parts(0x9000, 0x10000), (list{{0x9000, 0xa000}}));
}

TEST(ProcMaps, AMappingThatIsReadAgainAfterItHasGrownIsTakenOnce) {
    const auto parts = mappings_in("1000-3000 rw-p 00000000 00:00 0\n"
                                   "1000-5000 rw-p 00000000 00:00 0\n",
                                   0x2000, 0x5000);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].end, 0x3000u);
    EXPECT_EQ(parts[1].begin, 0x3000u);
    EXPECT_EQ(parts[1].end, 0x5000u);
}

} // namespace
