// SPDX-License-Identifier: MIT
// Queries that programs make before a launch, callbacks, and devices that use
// each other's memory.
#include "memory_fixture.hpp"

#include "hmm/peer.hpp"

#include <cstring>

namespace {

void some_kernel(int*, float) {}

class Queries : public MemoryOverFakes {};
class Callbacks : public MemoryOverFakes {};

TEST_F(Queries, VersionsAreThoseOfTheLibraryAndOfModulesThatServeIt) {
    int driver = -1, runtime = -1;
    ASSERT_EQ(hmmRuntimeGetVersion(&runtime), hmmSuccess);
    EXPECT_EQ(runtime, HMMRT_VERSION);
    ASSERT_EQ(hmmDriverGetVersion(&driver), hmmSuccess);
    EXPECT_EQ(driver, runtime);
    kernel.uapi_version = HMMRT_UAPI_VERSION + 1;
    EXPECT_EQ(hmmDriverGetVersion(&driver), hmmSuccess);
    EXPECT_EQ(driver, 0);
    kernel.uapi_version = HMMRT_UAPI_VERSION;
    kernel.manager_open_error = ENOENT;
    driver = -1;
    EXPECT_EQ(hmmDriverGetVersion(&driver), hmmSuccess);
    EXPECT_EQ(driver, 0);
    kernel.manager_open_error = EACCES;
    EXPECT_EQ(hmmDriverGetVersion(&driver), hmmErrorDevicesUnavailable);
    kernel.manager_open_error = 0;
}

TEST_F(Queries, FlagsAreKeptByDevice) {
    unsigned flags = 99;
    ASSERT_EQ(hmmSetDeviceFlags(hmmDeviceScheduleSpin | hmmDeviceMapHost), hmmSuccess);
    ASSERT_EQ(hmmGetDeviceFlags(&flags), hmmSuccess);
    EXPECT_EQ(flags, hmmDeviceScheduleSpin | hmmDeviceMapHost);
    EXPECT_EQ(hmmSetDeviceFlags(hmmDeviceScheduleSpin | hmmDeviceScheduleYield),
              hmmErrorInvalidValue);
    EXPECT_EQ(hmmSetDeviceFlags(0x20), hmmErrorInvalidValue);
    hmm::set_device(hmm::device(1));
    ASSERT_EQ(hmmGetDeviceFlags(&flags), hmmSuccess);
    EXPECT_EQ(flags, 0u);
    hmm::set_device(hmm::device(0));
    EXPECT_EQ(hmmSetDeviceFlags(0), hmmSuccess);
}

TEST_F(Queries, LimitsAreWhatTheyAre) {
    std::size_t value = 0;
    ASSERT_EQ(hmmDeviceGetLimit(&value, hmmLimitStackSize), hmmSuccess);
    EXPECT_GE(value, 1u << 20);
    EXPECT_EQ(hmmDeviceSetLimit(hmmLimitStackSize, value), hmmSuccess);
    EXPECT_EQ(hmmDeviceSetLimit(hmmLimitStackSize, value + 1), hmmErrorInvalidValue);
    kernel.environment["HMMRT_STACK_SIZE"] = "512K";
    ASSERT_EQ(hmmDeviceGetLimit(&value, hmmLimitStackSize), hmmSuccess);
    EXPECT_EQ(value, 512u << 10);
    kernel.environment["HMMRT_STACK_SIZE"] = "much";
    EXPECT_EQ(hmmDeviceGetLimit(&value, hmmLimitStackSize), hmmErrorInitializationError);
    kernel.environment.clear();
    ASSERT_EQ(hmmDeviceGetLimit(&value, hmmLimitMallocHeapSize), hmmSuccess);
    EXPECT_EQ(value, SIZE_MAX);
    for (int limit = hmmLimitPrintfFifoSize; limit <= hmmLimitPersistingL2CacheSize; limit++) {
        if (limit == hmmLimitMallocHeapSize) continue;
        EXPECT_EQ(hmmDeviceGetLimit(&value, static_cast<hmmLimit>(limit)),
                  hmmErrorUnsupportedLimit);
        EXPECT_EQ(hmmDeviceSetLimit(static_cast<hmmLimit>(limit), 0), hmmErrorUnsupportedLimit);
    }
    EXPECT_EQ(hmmDeviceGetLimit(&value, static_cast<hmmLimit>(7)), hmmErrorInvalidValue);
}

TEST_F(Queries, OccupancyIsABlockForEachLane) {
    int blocks = -1, grid = -1, block = -1;
    ASSERT_EQ(hmmOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, some_kernel, 64, 0),
              hmmSuccess);
    EXPECT_EQ(blocks, 1);
    ASSERT_EQ(hmmOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, some_kernel, 64, 1),
              hmmSuccess);
    EXPECT_EQ(blocks, 0) << "no lane has shared memory";
    ASSERT_EQ(hmmOccupancyMaxPotentialBlockSize(&grid, &block, some_kernel), hmmSuccess);
    EXPECT_EQ(grid, 2);
    EXPECT_EQ(block, 1024);
    ASSERT_EQ(hmmOccupancyMaxPotentialBlockSize(&grid, &block, some_kernel, 0, 100), hmmSuccess);
    EXPECT_EQ(block, 100);
    std::size_t bytes = 1;
    ASSERT_EQ(hmmOccupancyAvailableDynamicSMemPerBlock(&bytes, some_kernel, 1, 64), hmmSuccess);
    EXPECT_EQ(bytes, 0u);
    const void* const no_function = nullptr;
    EXPECT_EQ(hmmOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, no_function, 64, 0),
              hmmErrorInvalidDeviceFunction);
    EXPECT_EQ(hmmOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, some_kernel, 0, 0),
              hmmErrorInvalidValue);
    EXPECT_EQ(hmmOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, some_kernel, 1, 0, 2),
              hmmErrorInvalidValue);
    EXPECT_EQ(hmmOccupancyMaxPotentialBlockSize(&grid, &block, no_function, 0, 0),
              hmmErrorInvalidDeviceFunction);
    EXPECT_EQ(hmmOccupancyMaxPotentialBlockSize(&grid, &block, some_kernel, 1),
              hmmErrorNotSupported);
    EXPECT_EQ(hmmOccupancyMaxPotentialBlockSize(&grid, &block, some_kernel, 0, -1),
              hmmErrorInvalidValue);
    EXPECT_EQ(hmmOccupancyAvailableDynamicSMemPerBlock(&bytes, some_kernel, 0, 64),
              hmmErrorInvalidValue);
}

/// What a query gives for a struct without a zero. Checks that its reserved members are zero then.
template <class Struct, class Query>
Struct with_zeroes(Query query) {
    Struct made;
    std::memset(static_cast<void*>(&made), 0xff, sizeof(made));
    EXPECT_EQ(query(&made), hmmSuccess);
    for (const auto each : made.reserved)
        EXPECT_EQ(each, 0u);
    return made;
}

TEST_F(Queries, ReservedMembersAreZero) {
    void* const data = memory().data();
    auto function = with_zeroes<hmmFuncAttributes>(
        [](auto* to) { return hmmFuncGetAttributes(to, some_kernel); });
    EXPECT_EQ(function.maxThreadsPerBlock, 1024);
    with_zeroes<hmmDeviceProp>([](auto* to) { return hmmGetDeviceProperties(to, 0); });
    with_zeroes<hmmPrefetchReport>(
        [&](auto* to) { return hmmMemPrefetchWithReport(data, page, on(0), nullptr, 0, to); });
    with_zeroes<hmmPageState>([&](auto* to) { return hmmMemGetResidency(data, page, to, 1); });
    with_zeroes<hmmKnob>([](auto* to) { return hmmKnobGetByIndex(to, 0); });
    with_zeroes<hmmQuota>([](auto* to) { return hmmQuotaGet(to, {hmmQuotaScopeTypeProcess, 0}); });
    with_zeroes<hmmFaultRecord>([](auto* to) { return hmmGetLastFault(to); });
    EXPECT_EQ(hmmFuncGetAttributes(&function, static_cast<const void*>(nullptr)),
              hmmErrorInvalidDeviceFunction);
}

TEST_F(Queries, ErrorsThatProgramsCompareHaveNames) {
    EXPECT_STREQ(hmmGetErrorName(hmmErrorMisalignedAddress), "hmmErrorMisalignedAddress");
    EXPECT_STREQ(hmmGetErrorName(hmmErrorInvalidPitchValue), "hmmErrorInvalidPitchValue");
    EXPECT_EQ(static_cast<int>(hmmErrorInvalidPitchValue), 12);
    EXPECT_EQ(static_cast<int>(hmmErrorInvalidDeviceFunction), 98);
    EXPECT_EQ(static_cast<int>(hmmErrorUnsupportedLimit), 215);
    EXPECT_EQ(static_cast<int>(hmmErrorMisalignedAddress), 716);
}

void keep_status(hmmStream_t, hmmError_t status, void* data) {
    static_cast<std::vector<hmmError_t>*>(data)->push_back(status);
}

TEST_F(Callbacks, AreCalledInStreamOrderWithSuccess) {
    std::vector<hmmError_t> seen;
    std::atomic<int> step = 0;
    const hmm::stream in;
    hmm::launch(in, 1, [&](std::size_t) { step = 1; });
    ASSERT_EQ(hmmStreamAddCallback(in.get(), keep_status, &seen, 0), hmmSuccess);
    in.synchronize();
    EXPECT_EQ(step, 1);
    EXPECT_EQ(seen, std::vector{hmmSuccess});
    EXPECT_EQ(hmmStreamAddCallback(in.get(), keep_status, &seen, 1), hmmErrorInvalidValue);
    EXPECT_EQ(hmmStreamAddCallback(in.get(), nullptr, &seen, 0), hmmErrorInvalidValue);
}

TEST_F(Callbacks, AreToldOfADeviceThatFailed) {
    std::vector<hmmError_t> seen;
    const hmm::stream in;
    hmm::launch(in, 1, [](std::size_t) { kernel.raise(SIGSEGV); });
    const hmmError_t code = hmmStreamAddCallback(in.get(), keep_status, &seen, 0);
    EXPECT_EQ(hmmStreamSynchronize(in.get()), hmmErrorIllegalAddress);
    if (code == hmmSuccess) {
        EXPECT_EQ(seen, std::vector{hmmErrorIllegalAddress});
    } else { // the device had failed before the call
        EXPECT_EQ(code, hmmErrorIllegalAddress);
        EXPECT_TRUE(seen.empty());
    }
}

TEST_F(Callbacks, OfADeviceThatIsResetAreToldThatItIsLost) {
    std::vector<hmmError_t> seen;
    std::atomic<bool> begun = false;
    const hmm::stream in;
    hmm::launch(in, 1, [&](std::size_t) {
        begun = true;
        wait_until(fakes::fake_kernel::agent_is_gone);
    });
    ASSERT_EQ(hmmStreamAddCallback(in.get(), keep_status, &seen, 0), hmmSuccess);
    wait_for(begun);
    EXPECT_EQ(hmmDeviceReset(), hmmSuccess);
    EXPECT_EQ(seen, std::vector{hmmErrorDeviceLost});
}

TEST_F(Callbacks, AllAreToldThatTheAgentWasLost) {
    std::vector<hmmError_t> seen;
    std::atomic<bool> open = false;
    const hmm::stream in;
    hmm::launch(in, 1, [&](std::size_t) {
        wait_for(open);
        kernel.lose_agent();
    });
    for (int i = 0; i < 3; i++)
        ASSERT_EQ(hmmStreamAddCallback(in.get(), keep_status, &seen, 0), hmmSuccess);
    open = true;
    EXPECT_EQ(hmmStreamSynchronize(in.get()), hmmErrorDeviceLost);
    EXPECT_EQ(seen, std::vector(3, hmmErrorDeviceLost));
}

// ---- peers

using Peer = MemoryOverFakes;

TEST_F(Peer, AccessIsAskedForByNumber) {
    EXPECT_TRUE(hmm::can_access(hmm::device(0), hmm::device(1)));
    EXPECT_FALSE(hmm::can_access(hmm::device(0), hmm::device(0)));
    kernel.memory.peers_possible = false;
    EXPECT_FALSE(hmm::can_access(hmm::device(1), hmm::device(0)));
    int can = 0;
    EXPECT_EQ(hmmDeviceCanAccessPeer(&can, -1, 0), hmmErrorInvalidDevice);
}

TEST_F(Peer, AccessIsEnabledAndDisabledOnce) {
    EXPECT_EQ(hmmDeviceDisablePeerAccess(1), hmmErrorPeerAccessNotEnabled);
    EXPECT_EQ(hmmDeviceEnablePeerAccess(1, 0), hmmSuccess);
    EXPECT_EQ(hmmDeviceEnablePeerAccess(1, 0), hmmErrorPeerAccessAlreadyEnabled);
    EXPECT_EQ(hmmDeviceDisablePeerAccess(1), hmmSuccess);
    EXPECT_EQ(hmmDeviceDisablePeerAccess(1), hmmErrorPeerAccessNotEnabled);
}

TEST_F(Peer, AccessIsOfOneDirection) {
    const hmm::peer_access there(hmm::device(0), hmm::device(1));
    const hmm::scoped_device other(hmm::device(1));
    EXPECT_EQ(hmmDeviceDisablePeerAccess(0), hmmErrorPeerAccessNotEnabled);
}

TEST_F(Peer, OwnersEndTheAccess) {
    {
        hmm::peer_access first(hmm::device(1), hmm::device(0));
        const hmm::peer_access second = std::move(first);
        EXPECT_THROW(static_cast<void>(hmm::peer_access(hmm::device(1), hmm::device(0))),
                     hmm::error);
    }
    const hmm::peer_access again(hmm::device(1), hmm::device(0));
}

TEST_F(Peer, WrongArgumentsAreRefused) {
    EXPECT_EQ(hmmDeviceEnablePeerAccess(1, 1), hmmErrorInvalidValue);
    EXPECT_EQ(hmmDeviceEnablePeerAccess(0, 0), hmmErrorInvalidDevice);
    EXPECT_EQ(hmmDeviceEnablePeerAccess(7, 0), hmmErrorInvalidDevice);
    kernel.memory.peers_possible = false;
    EXPECT_EQ(hmmDeviceEnablePeerAccess(1, 0), hmmErrorPeerAccessUnsupported);
}

} // namespace
