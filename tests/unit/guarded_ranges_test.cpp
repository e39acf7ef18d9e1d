// SPDX-License-Identifier: MIT
#include "guarded_ranges.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <sys/mman.h>
#include <sys/syscall.h>

using namespace hmmrt;

namespace {

constexpr std::uint64_t begin = 0x10000, end = 0x20000;
constexpr int break_signal = 63;

class GuardedRanges : public testing::Test {
  protected:
    GuardedRanges() { ranges->add(begin, end); }

    bool guarded(std::int64_t number, std::initializer_list<std::uint64_t> values) const {
        std::uint64_t args[6] = {};
        std::copy(values.begin(), values.end(), args);
        return call_is_guarded(number, args, *ranges, break_signal);
    }

    std::unique_ptr<guarded_ranges> ranges = std::make_unique<guarded_ranges>();
};

TEST_F(GuardedRanges, TouchMeansOverlap) {
    EXPECT_TRUE(ranges->touches(begin, 1));
    EXPECT_TRUE(ranges->touches(end - 1, 1));
    EXPECT_TRUE(ranges->touches(0, UINT64_MAX));
    EXPECT_TRUE(ranges->touches(begin - 1, 2));
    EXPECT_FALSE(ranges->touches(begin - 1, 1));
    EXPECT_FALSE(ranges->touches(end, 100));
}

TEST_F(GuardedRanges, AWrappingLengthReachesToTheEnd) {
    EXPECT_TRUE(ranges->touches(begin - 1, UINT64_MAX));
}

TEST_F(GuardedRanges, ARemovedRangeIsFreeAgain) {
    ranges->remove(begin);
    EXPECT_FALSE(ranges->touches(begin, end - begin));
    EXPECT_TRUE(ranges->add(begin, end));
    EXPECT_TRUE(ranges->touches(begin, 1));
}

TEST_F(GuardedRanges, CallsThatChangeGuardedMemoryAreRefused) {
    for (const std::int64_t number : {SYS_munmap, SYS_mprotect, SYS_madvise, SYS_pkey_mprotect}) {
        EXPECT_TRUE(guarded(number, {begin, 4096})) << number;
        EXPECT_FALSE(guarded(number, {end, 4096})) << number;
    }
}

TEST_F(GuardedRanges, MapOnlyReplacesWithAFixedAddress) {
    EXPECT_FALSE(guarded(SYS_mmap, {begin, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS}));
    EXPECT_TRUE(guarded(SYS_mmap, {begin, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED}));
}

TEST_F(GuardedRanges, RemapIsCheckedAtBothEnds) {
    EXPECT_TRUE(guarded(SYS_mremap, {begin, 4096, 8192, MREMAP_MAYMOVE}));
    EXPECT_TRUE(guarded(SYS_mremap, {end, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, begin}));
    EXPECT_FALSE(guarded(SYS_mremap, {end, 4096, 4096, MREMAP_MAYMOVE, begin}));
}

TEST_F(GuardedRanges, TheBreakSignalKeepsItsHandler) {
    EXPECT_TRUE(guarded(SYS_rt_sigaction, {break_signal}));
    EXPECT_FALSE(guarded(SYS_rt_sigaction, {break_signal - 1}));
}

TEST_F(GuardedRanges, OtherCallsAreNotChecked) {
    EXPECT_FALSE(guarded(SYS_read, {begin, 4096}));
}

} // namespace
