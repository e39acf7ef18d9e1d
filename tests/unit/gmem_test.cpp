// SPDX-License-Identifier: MIT
// GMEM's calls: the requests that they make to the modules, and the errno of each error.
#include "hmm/gmem.h"
#include "memory_fixture.hpp"

#include <algorithm>

namespace {

constexpr int device0 = gmemHnidOfDevice(0), device1 = gmemHnidOfDevice(1);

/// errno if a call failed, 0 if it did not, and -1 for any other result.
int error_of(int result) {
    if (result == -1) return errno;
    return result == 0 ? 0 : -1;
}

class Gmem : public MemoryOverFakes {
  protected:
    Gmem() { std::fill(memory().begin(), memory().end(), std::byte(7)); }

    static int prefetch(unsigned long addr, std::size_t bytes, int hnid) {
        return error_of(hmadvise(hnid, addr, bytes, MADV_PREFETCH));
    }
    static int free_memory(unsigned long addr, std::size_t bytes, int hnid = -1) {
        return error_of(hmadvise(hnid, addr, bytes, MADV_EAGERFREE));
    }
    static unsigned long hole_address() { return fakes::fake_memory::hole; }
    std::size_t zeroes() {
        return static_cast<std::size_t>(std::count(memory().begin(), memory().end(), std::byte(0)));
    }
};

TEST_F(Gmem, PrefetchMovesAllPagesThatTheRangeTouchesToADeviceOrANode) {
    EXPECT_EQ(prefetch(address(page + 1), page, device1), 0);
    EXPECT_EQ(prefetch(address(), page, 5), 0) << "a node";
    EXPECT_EQ(prefetch(address(), page, 1023), 0);
    EXPECT_EQ(kernel.memory.prefetches,
              (prefetches{{address(page), 2 * page, kernel.devices[1].id},
                          {address(), page, HMMRT_LOCATION_HOST_NODE(5u)},
                          {address(), page, HMMRT_LOCATION_HOST_NODE(1023u)}}));
}

TEST_F(Gmem, NumaIdAndAPrefetchWithoutANumberAreOfTheCurrentDevice) {
    EXPECT_EQ(gmemGetNumaId(), device0);
    ASSERT_EQ(hmmSetDevice(1), hmmSuccess);
    EXPECT_EQ(gmemGetNumaId(), device1);
    EXPECT_EQ(gmemPrefetch(address(), page, nullptr), 0);
    EXPECT_EQ(kernel.memory.prefetches, (prefetches{{address(), page, kernel.devices[1].id}}));
}

TEST_F(Gmem, NumbersOfNothingAreRefused) {
    for (const int none : {-2, -1, gmemHnidOfDevice(2), INT32_MAX, INT32_MIN})
        EXPECT_EQ(prefetch(address(), page, none), EINVAL) << none;
    for (const int none : {-2, gmemHnidOfDevice(2), INT32_MAX, INT32_MIN})
        EXPECT_EQ(free_memory(address(), page, none), EINVAL) << none;
    EXPECT_TRUE(kernel.memory.prefetches.empty());
    EXPECT_EQ(zeroes(), 0u);
}

TEST_F(Gmem, EagerFreeTakesMinusOneAndAnyNumberOfAPlace) {
    for (const int any : {-1, 0, device0, device1}) {
        std::fill(memory().begin(), memory().end(), std::byte(7));
        EXPECT_EQ(free_memory(address(), page, any), 0) << any;
        EXPECT_EQ(zeroes(), page) << any;
    }
}

TEST_F(Gmem, EagerFreeFreesOnlyWholePagesInsideTheRange) {
    EXPECT_EQ(free_memory(address(1), 3 * page), 0);
    EXPECT_EQ(zeroes(), 2 * page);
    EXPECT_EQ(memory()[page], std::byte(0));
    EXPECT_EQ(memory()[3 * page], std::byte(7));
    EXPECT_EQ(free_memory(address(5 * page + 1), page), 0);
    EXPECT_EQ(free_memory(address(5 * page), page - 1), 0);
    EXPECT_EQ(zeroes(), 2 * page) << "no page is inside";
}

TEST_F(Gmem, UnknownBehaviorIsRefused) {
    for (const int unknown : {MADV_NORMAL, MADV_WILLNEED, MADV_FREE, 33, -1})
        EXPECT_EQ(error_of(hmadvise(device0, address(), page, unknown)), EINVAL) << unknown;
    EXPECT_STREQ(hmmGetLastErrorDetail(), "hmadvise: unknown behavior");
}

TEST_F(Gmem, EmptyRangesHaveNoEffect) {
    EXPECT_EQ(prefetch(address(), 0, device0), 0);
    EXPECT_EQ(free_memory(address(), 0), 0);
    const hmm::stream in;
    EXPECT_EQ(gmemPrefetch(address(), 0, device0, in.get()), 0);
    EXPECT_EQ(gmemFreeEager(address(), 0, in.get()), 0);
    in.synchronize();
    EXPECT_TRUE(kernel.memory.prefetches.empty());
    EXPECT_TRUE(kernel.memory.discards.empty());
    EXPECT_EQ(zeroes(), 0u);
}

TEST_F(Gmem, RangesThatWrapAreRefused) {
    const hmm::stream in;
    for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2}) {
        EXPECT_EQ(prefetch(address(), bytes, device0), EINVAL);
        EXPECT_EQ(free_memory(address(), bytes), EINVAL);
        EXPECT_EQ(error_of(gmemPrefetch(address(), bytes, device0, in.get())), EINVAL);
        EXPECT_EQ(error_of(gmemFreeEager(address(), bytes, in.get())), EINVAL);
    }
    EXPECT_EQ(error_of(gmemFreeEager(~0ul, SIZE_MAX, nullptr)), EINVAL);
    in.synchronize();
}

TEST_F(Gmem, MemoryThatIsNotMappedIsAnErrorAtOnceOrWhenTheWorkRuns) {
    EXPECT_EQ(prefetch(hole_address(), page, device0), ENOMEM);
    EXPECT_EQ(error_of(gmemPrefetch(hole_address(), page, device0, nullptr)), ENOMEM);
    const hmm::stream in;
    EXPECT_EQ(gmemPrefetch(hole_address(), page, device0, in.get()), 0);
    EXPECT_EQ(hmmStreamSynchronize(in.get()), hmmErrorInvalidValue);
    EXPECT_EQ(gmemFreeEager(hole_address(), page, in.get()), 0);
    EXPECT_EQ(hmmStreamSynchronize(in.get()), hmmErrorInvalidValue);
}

TEST_F(Gmem, NumbersAndDevicesBelongTogether) {
    EXPECT_EQ(gmemDeviceOfHnid(device1), 1);
    EXPECT_LT(gmemDeviceOfHnid(1023), 0) << "a node of the host";
}

TEST_F(Gmem, StreamsOrderPrefetchesAndFrees) {
    const hmm::stream in;
    EXPECT_EQ(gmemPrefetch(address(), page, device1, in.get()), 0);
    EXPECT_EQ(gmemFreeEager(address(1), 2 * page, in.get()), 0);
    EXPECT_EQ(gmemPrefetch(address(), page, device0, in.get()), 0);
    in.synchronize();
    EXPECT_EQ(kernel.memory.order, "pdp");
    EXPECT_EQ(kernel.memory.discards, (discards{{address(page), page}}));
    EXPECT_EQ(kernel.memory.prefetches[0].location, kernel.devices[1].id);
}

TEST_F(Gmem, AStreamThatDoesNotExistIsRefused) {
    int no_stream = 0;
    EXPECT_EQ(error_of(gmemPrefetch(address(), page, device0, &no_stream)), EINVAL);
    EXPECT_EQ(error_of(gmemFreeEager(address(), page, &no_stream)), EINVAL);
    EXPECT_EQ(error_of(gmemPrefetch(address(), 0, device0, &no_stream)), EINVAL);
    EXPECT_EQ(error_of(gmemFreeEager(address(), 0, &no_stream)), EINVAL);
}

TEST_F(Gmem, PagesThatCannotMoveAreNoErrorButADeviceThatGoesMeanwhileIs) {
    kernel.memory.stays[address()] = HMMRT_STAY_PINNED;
    EXPECT_EQ(prefetch(address(), 2 * page, device0), 0);
    kernel.memory.prefetch_error = -ENODEV;
    EXPECT_EQ(prefetch(address(), page, device0), ENODEV);
}

TEST_F(Gmem, ADeviceThatFailedIsAnErrorOfInputAndOutput) {
    fail_device();
    EXPECT_EQ(prefetch(address(), page, device0), EIO);
    EXPECT_EQ(error_of(gmemPrefetch(address(), page, device0, hmmStreamLegacy)), EIO);
    EXPECT_EQ(error_of(gmemFreeEager(address(), page, hmmStreamLegacy)), EIO);
    EXPECT_EQ(gmemFreeEager(address(), page, nullptr), 0) << "that needs no device";
}

TEST_F(Gmem, HostFunctionsMayNotCall) {
    const hmm::stream one;
    int errors[4] = {};
    one.call_host([&] {
        errors[0] = prefetch(address(), page, device0);
        errors[1] = error_of(gmemPrefetch(address(), page, device0, nullptr));
        errors[2] = error_of(gmemFreeEager(address(), page, nullptr));
        errors[3] = error_of(gmemGetNumaId());
    });
    one.synchronize();
    for (const int error : errors)
        EXPECT_EQ(error, EPERM);
}

TEST_F(Gmem, AForkedChildHasNoDevice) {
    run_nothing();
    EXPECT_TRUE(holds_in_child(
        [&] { return prefetch(address(), page, device0) == ENODEV && gmemGetNumaId() == -1; }));
}

[[noreturn]] void call_without_modules() {
    kernel.manager_open_error = ENOENT;
    alignas(4096) static char memory[4096];
    const auto addr = reinterpret_cast<unsigned long>(memory);
    memory[0] = 7;
    const bool told = error_of(gmemGetNumaId()) == ENODEV &&
                      error_of(hmadvise(0, addr, 4096, MADV_PREFETCH)) == ENODEV &&
                      error_of(hmadvise(device0, addr, 4096, MADV_PREFETCH)) == ENODEV;
    const bool freed = gmemFreeEager(addr, sizeof(memory), nullptr) == 0 && memory[0] == 0;
    _exit(told && freed ? 0 : 1);
}

/// Runs in another process, which has never found devices.
TEST(GmemWithoutModules, FreesMemoryAndSaysThatThereIsNoDevice) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(call_without_modules(), testing::ExitedWithCode(0), "");
}

} // namespace
