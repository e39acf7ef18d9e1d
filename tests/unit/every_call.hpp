// SPDX-License-Identifier: MIT
// Every function of the interface: those that don't need the result of another call with the kinds
// of arguments that they take, and calls for memory objects, each once.
#pragma once

#include "virtual_memory_fixture.hpp"

#include "api/interface.hpp"
#include "hmm/gmem.h"
#include "sys/syscalls.hpp"

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

/// A place for a result that nobody reads.
template <class Result>
Result* out() {
    static Result result;
    return &result;
}

inline int registered_variable;

inline void nothing_to_do(void*) {}
inline void no_items(void*, std::uint64_t, std::uint64_t) {}
inline void no_thread(const hmmThreadIndex*, void*) {}
inline void no_callback(hmmStream_t, hmmError_t, void*) {}

inline void* next_page(const subject& of) {
    return static_cast<char*>(of.ptr) + 4096;
}

inline hmmError_t ready_or_not(hmmError_t code) {
    return code == hmmErrorNotReady ? hmmSuccess : code;
}

inline hmmError_t push_and_pop() {
    const hmmError_t code = hmmRangePush("section");
    hmmRangePop();
    return code;
}

/// Frees what a call has allocated into out<void*>().
inline hmmError_t freed(hmmError_t code) {
    if (code == hmmSuccess) hmmFree(*out<void*>());
    return code;
}

inline hmmError_t freed_in(hmmStream_t stream, hmmError_t code) {
    if (code == hmmSuccess) hmmFreeAsync(*out<void*>(), stream);
    return code;
}

inline hmmError_t allocate_from_default_pool(const subject& of) {
    const hmmError_t code = hmmDeviceGetDefaultMemPool(out<hmmMemPool_t>(), 0);
    if (code != hmmSuccess) return code;
    return hmmMallocFromPoolAsync(out<void*>(), 1, *out<hmmMemPool_t>(), of.stream);
}

inline hmmMemPoolProps pool_on(int device) {
    hmmMemPoolProps props = {};
    props.allocType = hmmMemAllocationTypePinned;
    props.location = {hmmMemLocationTypeDevice, device};
    return props;
}

inline hmmError_t create_and_destroy_pool(const subject& of) {
    hmmMemPool_t pool = nullptr;
    const hmmMemPoolProps props = pool_on(of.device);
    const hmmError_t code = hmmMemPoolCreate(&pool, &props);
    if (code == hmmSuccess) hmmMemPoolDestroy(pool);
    return code;
}

inline hmmError_t set_default_pool(const subject& of) {
    hmmMemPool_t pool = nullptr;
    hmmDeviceGetDefaultMemPool(&pool, of.device);
    return hmmDeviceSetMemPool(of.device, pool);
}

inline hmmError_t prefetch_batch(const subject& of, decltype(hmmMemPrefetchBatchAsync) queue) {
    const std::size_t first = 0;
    return queue(&of.ptr, &of.bytes, 1, &of.where, &first, 1, 0, of.stream);
}

inline hmmError_t read_one_attribute(const subject& of) {
    void* const data = out<int>();
    const std::size_t size = sizeof(int);
    const auto which = hmmMemRangeAttributeReadMostly;
    return hmmMemRangeGetAttributes(&data, &size, &which, 1, of.ptr, of.bytes);
}

inline hmmError_t ask_for_granularity(const subject& of) {
    const hmmMemAllocationProp prop = pinned_on(of.where);
    return hmmMemGetAllocationGranularity(out<std::size_t>(), &prop,
                                          hmmMemAllocationGranularityMinimum);
}

inline hmmKnobScope range_scope(const subject& of) {
    return {hmmKnobScopeTypeRange, of.ptr, of.bytes};
}

/// Copies a row of this size from the next page. Valid until the next call.
inline const hmmMemcpy3DParms* box_copy(const subject& of) {
    hmmMemcpy3DParms& params = *out<hmmMemcpy3DParms>();
    params = {};
    params.dstPtr = make_hmmPitchedPtr(of.ptr, of.bytes, of.bytes, 1);
    params.srcPtr = make_hmmPitchedPtr(next_page(of), of.bytes, of.bytes, 1);
    params.extent = {of.bytes, 1, 1};
    params.kind = hmmMemcpyDefault;
    return &params;
}

inline unsigned long address_of(const subject& of) {
    return reinterpret_cast<unsigned long>(of.ptr);
}

/// The error that a call of GMEM has recorded, if it failed.
inline hmmError_t recorded(int result) {
    return result == -1 ? hmmPeekAtLastError() : hmmSuccess;
}

inline constexpr hmmQuotaScope own_quota = {hmmQuotaScopeTypeProcess, 0};

/// A row for a function. The last argument is an expression that calls it for the subject @of.
#define ROW(function, traits, ...)                                                                 \
    call {                                                                                         \
#function, traits,                                                                         \
            []([[maybe_unused]] const subject& of) -> hmmError_t { return __VA_ARGS__; }           \
    }
/// The same for a plain call with these arguments.
#define CALL(function, traits, ...) ROW(function, traits, function(__VA_ARGS__))

inline constexpr call calls[] = {
    CALL(hmmGetDeviceCount, 0, out<int>()),
    CALL(hmmSetDevice, takes_device, of.device),
    CALL(hmmGetDevice, 0, out<int>()),
    CALL(hmmGetDeviceProperties, takes_device, out<hmmDeviceProp>(), of.device),
    CALL(hmmDeviceGetAttribute, takes_device, out<int>(), hmmDevAttrManagedMemory, of.device),
    CALL(hmmMemGetInfo, 0, out<std::size_t>(), out<std::size_t>()),
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
    CALL(hmmMemGetResidency, takes_range, of.ptr, of.bytes, *out<hmmPageState[2]>(), 2),
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
inline std::vector<outcome> map_and_unmap() {
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
