// SPDX-License-Identifier: MIT
// Calls every function of the interface with each kind of wrong argument, and
// in each context where it must not be called.
#include "virtual_memory_fixture.hpp"

#include "api/interface.hpp"
#include "hmm/gmem.h"
#include "sys/syscalls.hpp"

#include <cstdio>
#include <pthread.h>

namespace {

/// Arguments of a call. By default all are valid.
struct subject {
    void* ptr;
    std::size_t bytes;
    hmmStream_t stream;
    hmmEvent_t event;
    int device;
    hmmMemLocation where;
};

enum trait : unsigned {
    takes_range = 1,  ///< and checks at once that it is mapped
    queues_range = 2, ///< and checks it when it runs
    wraps_too = 4,    ///< 0 bytes are valid and do nothing, wrapping is an error
    takes_stream = 8, ///< 0 is valid
    takes_event = 16,
    takes_device = 32,
    takes_location = 64,
    uses_device = 128,    ///< reports the sticky error of the device
    keeps_no_device = 256 ///< works without modules
};

struct call {
    const char* name;
    unsigned traits;
    hmmError_t (*run)(const subject&);
};

bool no_results = false;
int results_asked_for = 0;

/// A place for a result that nobody reads, or null.
template <class Result>
Result* out() {
    static Result result;
    results_asked_for++;
    return no_results ? nullptr : &result;
}

int registered_variable;
hmmPageState page_states[2];

void nothing_to_do(void*) {}
void no_items(void*, std::uint64_t, std::uint64_t) {}
void no_thread(const hmmThreadIndex*, void*) {}
void no_callback(hmmStream_t, hmmError_t, void*) {}

void* next_page(const subject& of) {
    return static_cast<char*>(of.ptr) + 4096;
}

hmmError_t ready_or_not(hmmError_t code) {
    return code == hmmErrorNotReady ? hmmSuccess : code;
}

hmmError_t push_and_pop() {
    const hmmError_t code = hmmRangePush("section");
    hmmRangePop();
    return code;
}

/// Frees what a call has allocated into out<void*>().
hmmError_t freed(hmmError_t code) {
    if (code == hmmSuccess) hmmFree(*out<void*>());
    return code;
}

hmmError_t freed_in(hmmStream_t stream, hmmError_t code) {
    if (code == hmmSuccess) hmmFreeAsync(*out<void*>(), stream);
    return code;
}

hmmError_t allocate_from_default_pool(const subject& of) {
    hmmMemPool_t pool = nullptr;
    const hmmError_t code = hmmDeviceGetDefaultMemPool(&pool, 0);
    return code != hmmSuccess ? code : hmmMallocFromPoolAsync(out<void*>(), 1, pool, of.stream);
}

hmmMemPoolProps pool_on(int device) {
    hmmMemPoolProps props = {};
    props.allocType = hmmMemAllocationTypePinned;
    props.location = {hmmMemLocationTypeDevice, device};
    return props;
}

hmmError_t create_and_destroy_pool(const subject& of) {
    hmmMemPool_t pool = nullptr;
    const hmmMemPoolProps props = pool_on(of.device);
    const hmmError_t code = hmmMemPoolCreate(&pool, &props);
    if (code == hmmSuccess) hmmMemPoolDestroy(pool);
    return code;
}

hmmError_t set_default_pool(const subject& of) {
    hmmMemPool_t pool = nullptr;
    hmmDeviceGetDefaultMemPool(&pool, of.device);
    return hmmDeviceSetMemPool(of.device, pool);
}

hmmError_t prefetch_batch(const subject& of, decltype(hmmMemPrefetchBatchAsync) queue) {
    const std::size_t first = 0;
    return queue(&of.ptr, &of.bytes, 1, &of.where, &first, 1, 0, of.stream);
}

hmmError_t read_one_attribute(const subject& of) {
    static int value;
    void* const data = &value;
    const std::size_t size = sizeof(int);
    const auto which = hmmMemRangeAttributeReadMostly;
    return hmmMemRangeGetAttributes(&data, &size, &which, 1, of.ptr, of.bytes);
}

hmmError_t ask_for_granularity(const subject& of) {
    const hmmMemAllocationProp prop = pinned_on(of.where);
    return hmmMemGetAllocationGranularity(out<std::size_t>(), &prop,
                                          hmmMemAllocationGranularityMinimum);
}

hmmKnobScope range_scope(const subject& of) {
    return {hmmKnobScopeTypeRange, of.ptr, of.bytes};
}

/// Copies a row of this size from the next page. Valid until the next call.
const hmmMemcpy3DParms* box_copy(const subject& of) {
    static hmmMemcpy3DParms params;
    params = {};
    params.dstPtr = make_hmmPitchedPtr(of.ptr, of.bytes, of.bytes, 1);
    params.srcPtr = make_hmmPitchedPtr(next_page(of), of.bytes, of.bytes, 1);
    params.extent = {of.bytes, 1, 1};
    params.kind = hmmMemcpyDefault;
    return &params;
}

unsigned long address_of(const subject& of) {
    return reinterpret_cast<unsigned long>(of.ptr);
}

/// The error that a call of GMEM has recorded, if it failed.
hmmError_t recorded(int result) {
    return result == -1 ? hmmPeekAtLastError() : hmmSuccess;
}

constexpr hmmQuotaScope own_quota = {hmmQuotaScopeTypeProcess, 0};

/// A row for a function. The last argument is an expression that calls it for the subject @of.
#define ROW(function, traits, ...)                                                                 \
    call {                                                                                         \
#function, traits,                                                                         \
            []([[maybe_unused]] const subject& of) -> hmmError_t { return __VA_ARGS__; }           \
    }
/// The same for a plain call with these arguments.
#define CALL(function, traits, ...) ROW(function, traits, function(__VA_ARGS__))

constexpr call calls[] = {
    CALL(hmmGetDeviceCount, 0, out<int>()),
    CALL(hmmSetDevice, takes_device, of.device),
    CALL(hmmGetDevice, 0, out<int>()),
    CALL(hmmGetDeviceProperties, takes_device, out<hmmDeviceProp>(), of.device),
    CALL(hmmDeviceGetAttribute, takes_device, out<int>(), hmmDevAttrManagedMemory, of.device),
    CALL(hmmMemGetInfo, 0, nullptr, nullptr),
    CALL(hmmDeviceSynchronize, uses_device),
    CALL(hmmDeviceCanAccessPeer, takes_device, out<int>(), 0, of.device),
    CALL(hmmLaunchFunction, takes_stream | uses_device, no_thread, 1, 1, nullptr, 0, 0, of.stream),
    CALL(hmmLaunchWrapper, takes_stream | uses_device, no_thread, nullptr, 1, 1, nullptr, 0, 0,
         of.stream),
    CALL(hmmRegisterVariable, keeps_no_device, &registered_variable, sizeof(int), 0),
    CALL(hmmLaunchRange, takes_stream | uses_device, no_items, nullptr, 1, nullptr, of.stream),
    CALL(hmmSetStrict, keeps_no_device, 0),
    CALL(hmmDeviceGetStreamPriorityRange, 0, nullptr, nullptr),
    CALL(hmmStreamGetFlags, takes_stream, of.stream, out<unsigned>()),
    CALL(hmmStreamGetPriority, takes_stream, of.stream, out<int>()),
    CALL(hmmStreamGetDevice, takes_stream, of.stream, out<int>()),
    CALL(hmmStreamSynchronize, takes_stream | uses_device, of.stream),
    ROW(hmmStreamQuery, takes_stream | uses_device, ready_or_not(hmmStreamQuery(of.stream))),
    CALL(hmmStreamWaitEvent, takes_stream | takes_event | uses_device, of.stream, of.event, 0),
    CALL(hmmLaunchHostFunc, takes_stream | uses_device, of.stream, nothing_to_do, nullptr),
    CALL(hmmLaunchHostClosure, takes_stream | uses_device, nothing_to_do, nullptr, nullptr,
         of.stream),
    CALL(hmmEventRecord, takes_stream | takes_event | uses_device, of.event, of.stream),
    ROW(hmmEventQuery, takes_event, ready_or_not(hmmEventQuery(of.event))),
    CALL(hmmEventSynchronize, takes_event, of.event),
    CALL(hmmMemPrefetchAsync, queues_range | takes_stream | takes_location | uses_device, of.ptr,
         of.bytes, of.where, 0, of.stream),
    ROW(hmmMemPrefetchBatchAsync, queues_range | takes_stream | takes_location | uses_device,
        prefetch_batch(of, hmmMemPrefetchBatchAsync)),
    CALL(hmmMemPrefetchWithReport, takes_range | takes_location, of.ptr, of.bytes, of.where,
         nullptr, 0, nullptr),
    CALL(hmmMemDiscardBatchAsync, queues_range | takes_stream | uses_device, &of.ptr, &of.bytes, 1,
         0, of.stream),
    ROW(hmmMemDiscardAndPrefetchBatchAsync,
        queues_range | takes_stream | takes_location | uses_device,
        prefetch_batch(of, hmmMemDiscardAndPrefetchBatchAsync)),
    CALL(hmmMemAdvise, takes_range | takes_location, of.ptr, of.bytes,
         hmmMemAdviseSetPreferredLocation, of.where),
    CALL(hmmMemAdviseAsync, queues_range | takes_stream | takes_location | uses_device, of.ptr,
         of.bytes, hmmMemAdviseSetPreferredLocation, of.where, of.stream),
    CALL(hmmMark, 0, "here"),
    ROW(hmmRangePush, keeps_no_device, push_and_pop()),
    ROW(hmmRangePop, 0, (hmmRangePush("section"), hmmRangePop())),
    CALL(hmmMemSetName, wraps_too, of.ptr, of.bytes, "name"),
    CALL(hmmMemSetGranularity, takes_range, of.ptr, of.bytes, 0),
    CALL(hmmMemRangeGetAttribute, takes_range, out<int>(), sizeof(int),
         hmmMemRangeAttributeReadMostly, of.ptr, of.bytes),
    ROW(hmmMemRangeGetAttributes, takes_range, read_one_attribute(of)),
    CALL(hmmPointerGetAttributes, 0, out<hmmPointerAttributes>(), of.ptr),
    CALL(hmmMemGetResidency, takes_range, of.ptr, of.bytes, page_states, 2),
    CALL(hmmMemcpyAsync, wraps_too | takes_stream | uses_device, of.ptr, next_page(of), of.bytes,
         hmmMemcpyDefault, of.stream),
    CALL(hmmMemcpy, wraps_too | uses_device, of.ptr, next_page(of), of.bytes, hmmMemcpyDefault),
    CALL(hmmMemsetAsync, wraps_too | takes_stream | uses_device, of.ptr, 1, of.bytes, of.stream),
    CALL(hmmMemset, wraps_too | uses_device, of.ptr, 1, of.bytes),
    CALL(hmmMemcpyPeerAsync, wraps_too | takes_stream | takes_device | uses_device, of.ptr,
         of.device, next_page(of), 0, of.bytes, of.stream),
    CALL(hmmMemcpyPeer, wraps_too | takes_device | uses_device, of.ptr, 0, next_page(of), of.device,
         of.bytes),
    CALL(hmmMemcpy2DAsync, wraps_too | takes_stream | uses_device, of.ptr, of.bytes, next_page(of),
         of.bytes, of.bytes, 1, hmmMemcpyDefault, of.stream),
    CALL(hmmMemcpy2D, wraps_too | uses_device, of.ptr, of.bytes, next_page(of), of.bytes, of.bytes,
         1, hmmMemcpyDefault),
    CALL(hmmMemset2DAsync, wraps_too | takes_stream | uses_device, of.ptr, of.bytes, 1, of.bytes, 1,
         of.stream),
    CALL(hmmMemset2D, wraps_too | uses_device, of.ptr, of.bytes, 1, of.bytes, 1),
    CALL(hmmMemcpy3DAsync, wraps_too | takes_stream | uses_device, box_copy(of), of.stream),
    CALL(hmmMemcpy3D, wraps_too | uses_device, box_copy(of)),
    CALL(hmmMemset3DAsync, wraps_too | takes_stream | uses_device, box_copy(of)->dstPtr, 1,
         {of.bytes, 1, 1}, of.stream),
    CALL(hmmMemset3D, wraps_too | uses_device, box_copy(of)->dstPtr, 1, {of.bytes, 1, 1}),
    CALL(hmmStreamAttachMemAsync, takes_range | takes_stream, of.stream, of.ptr, of.bytes,
         hmmMemAttachGlobal),
    CALL(hmmStreamAddCallback, takes_stream | uses_device, of.stream, no_callback, nullptr, 0),
    ROW(hmmMalloc, uses_device, freed(hmmMalloc(out<void*>(), 1))),
    ROW(hmmMallocAsync, takes_stream | uses_device,
        freed_in(of.stream, hmmMallocAsync(out<void*>(), 1, of.stream))),
    ROW(hmmMallocFromPoolAsync, takes_stream | uses_device,
        freed_in(of.stream, allocate_from_default_pool(of))),
    ROW(hmmMemPoolCreate, takes_device, create_and_destroy_pool(of)),
    CALL(hmmDeviceGetDefaultMemPool, takes_device, out<hmmMemPool_t>(), of.device),
    CALL(hmmDeviceGetMemPool, takes_device, out<hmmMemPool_t>(), of.device),
    ROW(hmmDeviceSetMemPool, takes_device, set_default_pool(of)),
    CALL(hmmRuntimeGetVersion, keeps_no_device, out<int>()),
    CALL(hmmDriverGetVersion, keeps_no_device, out<int>()),
    CALL(hmmSetDeviceFlags, 0, 0),
    CALL(hmmGetDeviceFlags, 0, out<unsigned>()),
    CALL(hmmDeviceGetLimit, 0, out<std::size_t>(), hmmLimitStackSize),
    CALL(hmmDeviceSetLimit, 0, hmmLimitStackSize, 1024),
    CALL(hmmFuncGetAttributes, 0, out<hmmFuncAttributes>(), no_items),
    CALL(hmmOccupancyMaxActiveBlocksPerMultiprocessor, 0, out<int>(), no_items, 1, 0),
    CALL(hmmOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 0, out<int>(), no_items, 1, 0, 0),
    CALL(hmmOccupancyMaxPotentialBlockSize, 0, out<int>(), out<int>(), no_items),
    CALL(hmmOccupancyAvailableDynamicSMemPerBlock, 0, out<std::size_t>(), no_items, 1, 1),
    CALL(hmmKnobGetCount, 0, out<int>()),
    CALL(hmmKnobGetByIndex, 0, out<hmmKnob>(), 0),
    CALL(hmmKnobGet, takes_range, out<hmmKnob>(), "prefetch_threshold", range_scope(of)),
    CALL(hmmKnobSet, takes_range, "prefetch_threshold", 1, range_scope(of)),
    CALL(hmmKnobReset, takes_range, "prefetch_threshold", range_scope(of)),
    CALL(hmmQuotaGet, uses_device, out<hmmQuota>(), own_quota),
    CALL(hmmGetStats, 0, out<hmmStats>()),
    CALL(hmmQuotaSet, uses_device, 1 << 20, 1, own_quota),
    CALL(hmmGetLastFault, 0, out<hmmFaultRecord>()),
    ROW(hmmMemGetAllocationGranularity, takes_location, ask_for_granularity(of)),
    ROW(hmadvise, wraps_too,
        recorded(hmadvise(gmemHnidOfDevice(of.device), address_of(of), of.bytes, MADV_PREFETCH))),
    ROW(gmemPrefetch, wraps_too | takes_stream,
        recorded(gmemPrefetch(address_of(of), of.bytes, gmemHnidOfDevice(of.device), of.stream))),
    ROW(gmemFreeEager, wraps_too | takes_stream | keeps_no_device,
        recorded(gmemFreeEager(address_of(of), of.bytes, of.stream))),
    ROW(gmemGetNumaId, 0, recorded(gmemGetNumaId())),
};

#undef CALL
#undef ROW

struct outcome {
    const char* name;
    const char* arguments; ///< "" if the table of calls has them
    hmmError_t code;
};

/// Calls a function with these arguments.
#define OUTCOME(function, ...) outcome({#function, #__VA_ARGS__, function(__VA_ARGS__)})

/// Calls for memory objects; each uses the result of an earlier one.
std::vector<outcome> map_and_unmap() {
    constexpr hmmMemLocation first = {hmmMemLocationTypeDevice, 0};
    constexpr auto type = hmmMemHandleTypePosixFileDescriptor;
    const hmmMemAllocationProp prop = pinned_on(first);
    const hmmMemAccessDesc access = {first, hmmMemAccessFlagsProtReadWrite};
    hmmMemAllocationProp found = {};
    hmmMemGenericAllocationHandle handle = 0, other = 0;
    hmmDeviceptr ptr = 0;
    int fd = -1;
    unsigned long long flags = 0;
    const auto file = [&] { return reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)); };
    std::vector<outcome> all = {
        OUTCOME(hmmMemCreate, &handle, unit, &prop, 0),
        OUTCOME(hmmMemGetAllocationPropertiesFromHandle, &found, handle),
        OUTCOME(hmmMemExportToShareableHandle, &fd, handle, type, 0),
        OUTCOME(hmmMemImportFromShareableHandle, &other, file(), type),
        OUTCOME(hmmMemRelease, other),
        OUTCOME(hmmMemAddressReserve, &ptr, unit, 0, 0, 0),
        OUTCOME(hmmMemMap, ptr, unit, 0, handle, 0),
        OUTCOME(hmmMemSetAccess, ptr, unit, &access, 1),
        OUTCOME(hmmMemGetAccess, &flags, &access.location, ptr),
        OUTCOME(hmmMemGetAddressRange, &ptr, nullptr, ptr),
        OUTCOME(hmmMemRetainAllocationHandle, &other, reinterpret_cast<void*>(ptr)),
        OUTCOME(hmmMemRelease, other),
        OUTCOME(hmmMemUnmap, ptr, unit),
        OUTCOME(hmmMemAddressFree, ptr, unit),
        OUTCOME(hmmMemRelease, handle),
    };
    const hmmrt::no_cancellation until_the_end; // closing is a cancellation point
    if (fd >= 0) hmmrt::sys::close_file(fd);
    return all;
}

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

/// Outcomes of all calls. The last one resets the device.
std::vector<outcome> outcomes_of_all(const subject& of) {
    std::vector<outcome> all;
    for (const call& each : calls)
        all.push_back({each.name, "", each.run(of)});
    for (const auto& group : {map_and_unmap(), make_and_give_back(of)})
        all.insert(all.end(), group.begin(), group.end());
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
    no_results = true;
    for (const call& each : calls) {
        results_asked_for = 0;
        const hmmError_t code = each.run(good());
        if (results_asked_for > 0) {
            EXPECT_EQ(code, hmmErrorInvalidValue) << each.name;
        }
    }
    no_results = false;
    void *const data = memory().data(), *nowhere = nullptr;
    std::size_t bytes = 0;
    hmmMemPool_t pool = nullptr;
    hmmMemGenericAllocationHandle handle = 0;
    const hmmMemAllocationProp pinned = pinned_on(on(0));
    ASSERT_EQ(hmmDeviceGetDefaultMemPool(&pool, 0), hmmSuccess);
    const outcome outcomes[] = {
        OUTCOME(hmmStreamCreate, nullptr),
        OUTCOME(hmmStreamCreateWithFlags, nullptr, 0),
        OUTCOME(hmmStreamCreateWithPriority, nullptr, 0, 0),
        OUTCOME(hmmEventCreate, nullptr),
        OUTCOME(hmmEventCreateWithFlags, nullptr, 0),
        OUTCOME(hmmEventElapsedTime, nullptr, event_.get(), event_.get()),
        OUTCOME(hmmMemGetResidency, data, page, nullptr, 1),
        OUTCOME(hmmMallocManaged, nullptr, page, hmmMemAttachGlobal),
        OUTCOME(hmmHostGetDevicePointer, nullptr, data, 0),
        OUTCOME(hmmHostGetFlags, nullptr, data),
        OUTCOME(hmmGetLastErrorRecord, nullptr),
        OUTCOME(hmmGetLastErrorException, nullptr),
        OUTCOME(hmmHostAlloc, nullptr, page, 0),
        OUTCOME(hmmMallocHost, nullptr, page),
        OUTCOME(hmmMallocPitch, nullptr, &bytes, 1, 1),
        OUTCOME(hmmMallocPitch, &nowhere, nullptr, 1, 1),
        OUTCOME(hmmMalloc3D, nullptr, {1, 1, 1}),
        OUTCOME(hmmMemPoolCreate, nullptr, nullptr),
        OUTCOME(hmmMemPoolGetAttribute, pool, hmmMemPoolAttrUsedMemCurrent, nullptr),
        OUTCOME(hmmMemPoolSetAttribute, pool, hmmMemPoolAttrReleaseThreshold, nullptr),
        OUTCOME(hmmMemcpy3D, nullptr),
        OUTCOME(hmmMemcpy3DAsync, nullptr),
        OUTCOME(hmmStreamAddCallback, nullptr, nullptr, nullptr, 0),
        OUTCOME(hmmMemCreate, nullptr, 2 << 20, &pinned, 0),
        OUTCOME(hmmMemCreate, &handle, 2 << 20, nullptr, 0),
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
    fail_device();
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
    run_nothing();
    EXPECT_TRUE(holds_in_child([&] {
        bool good = true;
        for (const outcome& each : outcomes_of_all(of)) {
            if (each.code == hmmErrorForkedProcess) continue;
            std::fprintf(stderr, "%s: %d\n", each.name, each.code);
            good = false;
        }
        return good;
    }));
    hmm::launch(1, [](std::size_t) {});
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmSuccess) << "the parent goes on";
}

struct cancelled_thread {
    subject of;
    std::vector<outcome> outcomes;
    bool went_on = false;

    static void* run(void* raw) {
        auto& self = *static_cast<cancelled_thread*>(raw);
        pthread_cancel(pthread_self());
        self.outcomes = outcomes_of_all(self.of);
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
