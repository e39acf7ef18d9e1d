// SPDX-License-Identifier: MIT
// Calls every function of the interface with each kind of wrong argument, and
// in each context where it must not be called.
#include "every_call.hpp"

#include <cstdio>
#include <pthread.h>

namespace {

/// Calls that use the result of an earlier call.
std::vector<outcome> make_and_give_back(const subject& of) {
    hmmStream_t stream = nullptr;
    hmmEvent_t event = nullptr;
    void* pointer = nullptr;
    unsigned flags = 0;
    std::size_t pitch = 0;
    std::uint64_t value = 0;
    hmmPitchedPtr box = {};
    hmmMemPool_t pool = nullptr;
    const hmmMemPoolProps props = pool_on(0);
    const auto threshold = hmmMemPoolAttrReleaseThreshold;
    return {
        OUTCOME(hmmMalloc, &pointer, 1),
        OUTCOME(hmmFree, pointer),
        OUTCOME(hmmHostAlloc, &pointer, 1, hmmHostAllocDefault),
        OUTCOME(hmmFreeHost, pointer),
        OUTCOME(hmmMallocHost, &pointer, 1),
        OUTCOME(hmmFreeHost, pointer),
        OUTCOME(hmmMallocPitch, &pointer, &pitch, 1, 1),
        OUTCOME(hmmFree, pointer),
        OUTCOME(hmmMalloc3D, &box, {1, 1, 1}),
        OUTCOME(hmmFree, box.ptr),
        OUTCOME(hmmMemPoolCreate, &pool, &props),
        OUTCOME(hmmMallocFromPoolAsync, &pointer, 1, pool, nullptr),
        OUTCOME(hmmFreeAsync, pointer, nullptr),
        OUTCOME(hmmMemPoolGetAttribute, pool, threshold, &value),
        OUTCOME(hmmMemPoolSetAttribute, pool, threshold, &value),
        OUTCOME(hmmMemPoolTrimTo, pool, 0),
        OUTCOME(hmmMemPoolDestroy, pool),
        OUTCOME(hmmStreamCreate, &stream),
        OUTCOME(hmmStreamDestroy, stream),
        OUTCOME(hmmStreamCreateWithFlags, &stream, hmmStreamNonBlocking),
        OUTCOME(hmmStreamDestroy, stream),
        OUTCOME(hmmStreamCreateWithPriority, &stream, 0, -1),
        OUTCOME(hmmStreamDestroy, stream),
        OUTCOME(hmmEventCreate, &event),
        OUTCOME(hmmEventDestroy, event),
        OUTCOME(hmmEventCreateWithFlags, &event, 0),
        OUTCOME(hmmEventDestroy, event),
        OUTCOME(hmmHostRegister, of.ptr, of.bytes, 0),
        OUTCOME(hmmHostGetFlags, &flags, of.ptr),
        OUTCOME(hmmHostGetDevicePointer, &pointer, of.ptr, 0),
        OUTCOME(hmmHostUnregister, of.ptr),
        OUTCOME(hmmMallocManaged, &pointer, 1, hmmMemAttachGlobal),
        OUTCOME(hmmFree, pointer),
        OUTCOME(hmmDeviceEnablePeerAccess, 1, 0),
        OUTCOME(hmmDeviceDisablePeerAccess, 1),
        OUTCOME(hmmDeviceReset),
    };
}

/// Outcomes of both groups of calls.
std::vector<outcome> outcomes_of_all(const subject& of) {
    std::vector<outcome> all = make_and_give_back(of);
    for (const outcome& each : map_and_unmap())
        all.push_back(each);
    for (const call& each : calls)
        all.push_back({each.name, "", each.run(of)});
    return all;
}

template <class Outcomes>
void expect_all(const Outcomes& outcomes, hmmError_t code) {
    for (const outcome& each : outcomes)
        EXPECT_EQ(each.code, code) << each.name << '(' << each.arguments << ')';
}

class EveryCall : public MemoryOverFakes {
  protected:
    subject good() { return {memory().data(), page, nullptr, event_.get(), 0, host}; }

    /// Makes all calls that have one of the traits with the arguments @wrong.
    static void expect(unsigned traits, const subject& wrong, hmmError_t code) {
        for (const call& each : calls) {
            if ((each.traits & traits) == 0) continue;
            EXPECT_EQ(each.run(wrong), code) << each.name;
        }
    }
    static hmmStream_t no_stream() { return reinterpret_cast<hmmStream_t>(~0ul); }

    const hmm::event event_;
};

TEST_F(EveryCall, IsSuccessWhereNothingIsWrong) {
    subject of = good();
    for (const call& each : calls)
        EXPECT_EQ(each.run(of), hmmSuccess) << each.name;
    const hmm::stream stream;
    of.stream = stream.get();
    expect(takes_stream, of, hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    expect_all(make_and_give_back(of), hmmSuccess);
    expect_all(map_and_unmap(), hmmSuccess);
}

TEST_F(EveryCall, WithNullForItsResultIsRefused) {
    void* const data = memory().data();
    std::size_t bytes = 0;
    const auto which = hmmMemRangeAttributeReadMostly;
    const outcome outcomes[] = {
        OUTCOME(hmmGetDeviceCount, nullptr),
        OUTCOME(hmmGetDevice, nullptr),
        OUTCOME(hmmGetDeviceProperties, nullptr, 0),
        OUTCOME(hmmDeviceGetAttribute, nullptr, hmmDevAttrManagedMemory, 0),
        OUTCOME(hmmMemGetInfo, nullptr, &bytes),
        OUTCOME(hmmMemGetInfo, &bytes, nullptr),
        OUTCOME(hmmDeviceCanAccessPeer, nullptr, 0, 1),
        OUTCOME(hmmStreamCreate, nullptr),
        OUTCOME(hmmStreamCreateWithFlags, nullptr, 0),
        OUTCOME(hmmStreamCreateWithPriority, nullptr, 0, 0),
        OUTCOME(hmmStreamGetFlags, nullptr, nullptr),
        OUTCOME(hmmStreamGetPriority, nullptr, nullptr),
        OUTCOME(hmmStreamGetDevice, nullptr, nullptr),
        OUTCOME(hmmEventCreate, nullptr),
        OUTCOME(hmmEventCreateWithFlags, nullptr, 0),
        OUTCOME(hmmEventElapsedTime, nullptr, event_.get(), event_.get()),
        OUTCOME(hmmMemRangeGetAttribute, nullptr, 4, which, data, page),
        OUTCOME(hmmPointerGetAttributes, nullptr, data),
        OUTCOME(hmmMemGetResidency, data, page, nullptr, 1),
        OUTCOME(hmmMallocManaged, nullptr, page, hmmMemAttachGlobal),
        OUTCOME(hmmHostGetDevicePointer, nullptr, data, 0),
        OUTCOME(hmmHostGetFlags, nullptr, data),
        OUTCOME(hmmKnobGetCount, nullptr),
        OUTCOME(hmmKnobGetByIndex, nullptr, 0),
        OUTCOME(hmmKnobGet, nullptr, "prefetch_threshold", range_scope(good())),
        OUTCOME(hmmQuotaGet, nullptr, own_quota),
        OUTCOME(hmmGetStats, nullptr),
        OUTCOME(hmmGetLastErrorRecord, nullptr),
        OUTCOME(hmmGetLastErrorException, nullptr),
        OUTCOME(hmmGetLastFault, nullptr),
    };
    expect_all(outcomes, hmmErrorInvalidValue);
}

TEST_F(EveryCall, ThatAllocatesOrQueriesRefusesNullForItsResult) {
    void* nowhere = nullptr;
    std::size_t bytes = 0;
    hmmMemPool_t pool = nullptr;
    hmmMemGenericAllocationHandle handle = 0;
    const hmmMemAllocationProp pinned = pinned_on(on(0));
    ASSERT_EQ(hmmDeviceGetDefaultMemPool(&pool, 0), hmmSuccess);
    const outcome outcomes[] = {
        OUTCOME(hmmMalloc, nullptr, page),
        OUTCOME(hmmHostAlloc, nullptr, page, 0),
        OUTCOME(hmmMallocHost, nullptr, page),
        OUTCOME(hmmMallocPitch, nullptr, &bytes, 1, 1),
        OUTCOME(hmmMallocPitch, &nowhere, nullptr, 1, 1),
        OUTCOME(hmmMalloc3D, nullptr, {1, 1, 1}),
        OUTCOME(hmmMallocAsync, nullptr, page, nullptr),
        OUTCOME(hmmMallocFromPoolAsync, nullptr, page, pool, nullptr),
        OUTCOME(hmmMemPoolCreate, nullptr, nullptr),
        OUTCOME(hmmMemPoolGetAttribute, pool, hmmMemPoolAttrUsedMemCurrent, nullptr),
        OUTCOME(hmmMemPoolSetAttribute, pool, hmmMemPoolAttrReleaseThreshold, nullptr),
        OUTCOME(hmmDeviceGetDefaultMemPool, nullptr, 0),
        OUTCOME(hmmDeviceGetMemPool, nullptr, 0),
        OUTCOME(hmmMemcpy3D, nullptr),
        OUTCOME(hmmMemcpy3DAsync, nullptr),
        OUTCOME(hmmRuntimeGetVersion, nullptr),
        OUTCOME(hmmDriverGetVersion, nullptr),
        OUTCOME(hmmGetDeviceFlags, nullptr),
        OUTCOME(hmmDeviceGetLimit, nullptr, hmmLimitStackSize),
        OUTCOME(hmmFuncGetAttributes, nullptr, no_items),
        OUTCOME(hmmOccupancyMaxActiveBlocksPerMultiprocessor, nullptr, no_items, 1, 0),
        OUTCOME(hmmOccupancyMaxPotentialBlockSize, nullptr, nullptr, no_items),
        OUTCOME(hmmOccupancyAvailableDynamicSMemPerBlock, nullptr, no_items, 1, 1),
        OUTCOME(hmmStreamAddCallback, nullptr, nullptr, nullptr, 0),
        OUTCOME(hmmMemCreate, nullptr, 2 << 20, &pinned, 0),
        OUTCOME(hmmMemCreate, &handle, 2 << 20, nullptr, 0),
        OUTCOME(hmmMemGetAllocationGranularity, nullptr, &pinned,
                hmmMemAllocationGranularityMinimum),
        OUTCOME(hmmMemRetainAllocationHandle, nullptr, nullptr),
        OUTCOME(hmmMemAddressReserve, nullptr, 2 << 20, 0, 0, 0),
        OUTCOME(hmmMemImportFromShareableHandle, nullptr, nullptr,
                hmmMemHandleTypePosixFileDescriptor),
        OUTCOME(hmmMemGetAllocationPropertiesFromHandle, nullptr, 0),
        OUTCOME(hmmMemExportToShareableHandle, nullptr, 0, hmmMemHandleTypePosixFileDescriptor, 0),
        OUTCOME(hmmMemGetAccess, nullptr, &pinned.location, 0),
    };
    expect_all(outcomes, hmmErrorInvalidValue);
}

TEST_F(EveryCall, OfHostFunctionsCallsThemWithTheirArgument) {
    const auto add_one = [](void* raw) { ++*static_cast<int*>(raw); };
    int called = 0, given_back = 0;
    EXPECT_EQ(hmmLaunchHostFunc(nullptr, add_one, &called), hmmSuccess);
    EXPECT_EQ(hmmStreamSynchronize(nullptr), hmmSuccess);
    EXPECT_EQ(called, 1);
    EXPECT_EQ(hmmLaunchHostClosure(nothing_to_do, &given_back, add_one, nullptr), hmmSuccess);
    EXPECT_EQ(hmmStreamSynchronize(nullptr), hmmSuccess);
    EXPECT_EQ(given_back, 1);
    EXPECT_EQ(hmmLaunchHostClosure(nothing_to_do, &given_back, add_one, no_stream()),
              hmmErrorInvalidResourceHandle);
    EXPECT_EQ(given_back, 1) << "it stays the caller's";
}

TEST_F(EveryCall, WithAnInvalidStreamIsRefused) {
    subject of = good();
    of.stream = no_stream();
    expect(takes_stream, of, hmmErrorInvalidResourceHandle);
    EXPECT_EQ(hmmStreamDestroy(no_stream()), hmmErrorInvalidResourceHandle);
}

TEST_F(EveryCall, WithAnInvalidEventIsRefused) {
    subject of = good();
    of.event = reinterpret_cast<hmmEvent_t>(~0ul);
    expect(takes_event, of, hmmErrorInvalidResourceHandle);
}

TEST_F(EveryCall, WithAnInvalidDeviceIsRefused) {
    subject of = good();
    for (const int none : {-1, 2, 1000}) {
        of.device = none;
        of.where = on(none);
        expect(takes_device | takes_location, of, hmmErrorInvalidDevice);
    }
}

TEST_F(EveryCall, WithAnInvalidLocationIsRefused) {
    subject of = good();
    for (const hmmMemLocation none : {hmmMemLocation{hmmMemLocationTypeInvalid, 0},
                                      hmmMemLocation{static_cast<hmmMemLocationType>(5), 0},
                                      hmmMemLocation{hmmMemLocationTypeHostNuma, -1},
                                      hmmMemLocation{hmmMemLocationTypeHostNuma, 1024}}) {
        of.where = none;
        expect(takes_location, of, hmmErrorInvalidValue);
    }
}

TEST_F(EveryCall, WithAnInvalidRangeIsRefused) {
    subject of = good();
    for (const std::size_t wrong : {SIZE_MAX, SIZE_MAX / 2}) {
        of.bytes = wrong;
        expect(takes_range | queues_range | wraps_too, of, hmmErrorInvalidValue);
    }
    of.bytes = 0;
    expect(takes_range | queues_range, of, hmmErrorInvalidValue);
    expect(wraps_too, of, hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess) << "nothing was queued";
    EXPECT_TRUE(kernel.memory.prefetches.empty());
    EXPECT_TRUE(kernel.memory.discards.empty());
}

TEST_F(EveryCall, OfAHoleIsRefusedAtOnceOrReportedOnce) {
    subject of = good();
    of.ptr = hole();
    expect(takes_range, of, hmmErrorInvalidValue);
    for (const call& each : calls) {
        if ((each.traits & queues_range) == 0) continue;
        EXPECT_EQ(each.run(of), hmmSuccess) << each.name;
        EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorInvalidValue) << each.name;
        EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess) << each.name;
    }
}

TEST_F(EveryCall, OfADeviceThatFailedReportsWhatFailed) {
    hmm::launch(1, [](std::size_t) { kernel.raise(SIGSEGV); });
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorIllegalAddress);
    expect(uses_device, good(), hmmErrorIllegalAddress);
}

TEST_F(EveryCall, FromAHostFunctionIsNotPermitted) {
    const subject of = good();
    const hmm::stream one;
    const std::size_t before = kernel.memory.prefetches.size();
    std::vector<outcome> outcomes;
    one.call_host([&] { outcomes = outcomes_of_all(of); });
    one.synchronize();
    EXPECT_GT(outcomes.size(), std::size(calls));
    expect_all(outcomes, hmmErrorNotPermitted);
    EXPECT_EQ(kernel.memory.prefetches.size(), before);
}

TEST_F(EveryCall, InAChildOfForkIsRefused) {
    const subject of = good();
    hmm::launch(1, [](std::size_t) {});
    hmm::synchronize();
    EXPECT_TRUE(holds_in_child([&] {
        bool good = true;
        for (const outcome& each : outcomes_of_all(of)) {
            if (each.code == hmmErrorForkedProcess) continue;
            std::fprintf(stderr, "%s: %d\n", each.name, each.code);
            good = false;
        }
        return good;
    }));
}

struct cancelled_thread {
    subject of;
    std::vector<outcome> outcomes;
    bool went_on = false;

    static void* run(void* raw) {
        auto& self = *static_cast<cancelled_thread*>(raw);
        pthread_cancel(pthread_self());
        for (const call& each : calls)
            self.outcomes.push_back({each.name, "", each.run(self.of)});
        for (const outcome& each : map_and_unmap())
            self.outcomes.push_back(each);
        for (const outcome& each : make_and_give_back(self.of)) // resets the device
            self.outcomes.push_back(each);
        hmmClosureFree(hmmClosureAllocate(1));
        hmmSetDevice(99);
        hmmGetLastError();
        self.went_on = true;
        pthread_testcancel();
        return nullptr;
    }
};

TEST_F(EveryCall, OfAThreadThatIsToEndReturnsBeforeItEnds) {
    cancelled_thread self = {good(), {}};
    pthread_t thread;
    void* result = nullptr;
    ASSERT_EQ(pthread_create(&thread, nullptr, cancelled_thread::run, &self), 0);
    ASSERT_EQ(pthread_join(thread, &result), 0);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(self.went_on);
    EXPECT_GT(self.outcomes.size(), std::size(calls));
    expect_all(self.outcomes, hmmSuccess);
}

[[noreturn]] void call_all_without_modules() {
    kernel.manager_open_error = ENOENT;
    static char memory[2 * 4096];
    const subject of = {memory, 4096, nullptr, nullptr, 0, {hmmMemLocationTypeHost, 0}};
    int wrong = 0;
    for (const call& each : calls) {
        if ((each.traits & (takes_event | keeps_no_device)) != 0) continue;
        const hmmError_t code = each.run(of);
        if (code == hmmErrorNoDevice) continue;
        std::fprintf(stderr, "%s: %d\n", each.name, code);
        wrong = 1;
    }
    _exit(wrong);
}

/// Runs in another process, which has never found devices.
TEST(EveryCallWithoutModules, SaysThatThereIsNoDevice) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(call_all_without_modules(), testing::ExitedWithCode(0), "");
}

TEST_F(EveryCall, ThatIsDeclaredIsHere) {
    std::set<std::string> known = {
        "hmmClosureAllocate",       "hmmClosureFree",         "hmmGetErrorName",
        "hmmGetErrorString",        "hmmGetLastError",        "hmmPeekAtLastError",
        "hmmGetLastErrorDetail",    "hmmEventElapsedTime",    "hmmGetLastErrorRecord",
        "hmmGetLastErrorException", "hmmEndLaunchByException"}; // terminates the program outside of
                                                                // kernels
    for (const outcome& each : outcomes_of_all(good()))
        known.insert(each.name);
    const std::set<std::string> declared = {
#define HMM_FUNCTION(name) #name,
#include "hmm_functions.inc"
#undef HMM_FUNCTION
    };
    EXPECT_EQ(declared, known);
}

} // namespace
