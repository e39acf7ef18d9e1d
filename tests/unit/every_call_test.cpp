// SPDX-License-Identifier: MIT
// Calls every function of the interface with each kind of wrong argument, and
// in each context where it must not be called.
#include "hmm/gmem.h"
#include "object_calls.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <pthread.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using fakes::kernel;

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

void nothing_to_do(void*) {}
void no_items(void*, std::uint64_t, std::uint64_t) {}
void no_thread(const hmmThreadIndex*, void*) {}

hmmError_t prefetch_batch(const subject& of, decltype(hmmMemPrefetchBatchAsync) queue) {
    const std::size_t first = 0;
    return queue(&of.ptr, &of.bytes, 1, &of.where, &first, 1, 0, of.stream);
}

hmmKnobScope range_scope(const subject& of) {
    return {hmmKnobScopeTypeRange, of.ptr, of.bytes};
}

/// Copies a row of this size from the next page.
hmmMemcpy3DParms box_copy(const subject& of) {
    hmmMemcpy3DParms params = {};
    params.dstPtr = make_hmmPitchedPtr(of.ptr, of.bytes, of.bytes, 1);
    params.srcPtr = make_hmmPitchedPtr(static_cast<char*>(of.ptr) + 4096, of.bytes, of.bytes, 1);
    params.extent = {of.bytes, 1, 1};
    params.kind = hmmMemcpyDefault;
    return params;
}

unsigned long address_of(const subject& of) {
    return reinterpret_cast<unsigned long>(of.ptr);
}

/// The error that a call of GMEM has recorded, if it failed.
hmmError_t recorded(int result) {
    return result == -1 ? hmmPeekAtLastError() : hmmSuccess;
}

constexpr hmmQuotaScope own_quota = {hmmQuotaScopeTypeProcess, 0};

constexpr call calls[] = {
    {"hmmGetDeviceCount", 0,
     [](const subject&) {
         int n;
         return hmmGetDeviceCount(&n);
     }},
    {"hmmSetDevice", takes_device, [](const subject& of) { return hmmSetDevice(of.device); }},
    {"hmmGetDevice", 0,
     [](const subject&) {
         int n;
         return hmmGetDevice(&n);
     }},
    {"hmmGetDeviceProperties", takes_device,
     [](const subject& of) {
         hmmDeviceProp p;
         return hmmGetDeviceProperties(&p, of.device);
     }},
    {"hmmDeviceGetAttribute", takes_device,
     [](const subject& of) {
         int value;
         return hmmDeviceGetAttribute(&value, hmmDevAttrManagedMemory, of.device);
     }},
    {"hmmMemGetInfo", 0,
     [](const subject&) {
         std::size_t a, b;
         return hmmMemGetInfo(&a, &b);
     }},
    {"hmmDeviceSynchronize", uses_device, [](const subject&) { return hmmDeviceSynchronize(); }},
    {"hmmDeviceCanAccessPeer", takes_device,
     [](const subject& of) {
         int can;
         return hmmDeviceCanAccessPeer(&can, 0, of.device);
     }},
    {"hmmLaunchFunction", takes_stream | uses_device,
     [](const subject& of) {
         return hmmLaunchFunction(no_thread, 1, 1, nullptr, 0, 0, of.stream);
     }},
    {"hmmLaunchWrapper", takes_stream | uses_device,
     [](const subject& of) {
         return hmmLaunchWrapper(no_thread, nullptr, 1, 1, nullptr, 0, 0, of.stream);
     }},
    {"hmmLaunchRange", takes_stream | uses_device,
     [](const subject& of) { return hmmLaunchRange(no_items, nullptr, 1, nullptr, of.stream); }},
    {"hmmSetStrict", keeps_no_device, [](const subject&) { return hmmSetStrict(0); }},
    {"hmmDeviceGetStreamPriorityRange", 0,
     [](const subject&) { return hmmDeviceGetStreamPriorityRange(nullptr, nullptr); }},
    {"hmmStreamGetFlags", takes_stream,
     [](const subject& of) {
         unsigned flags;
         return hmmStreamGetFlags(of.stream, &flags);
     }},
    {"hmmStreamGetPriority", takes_stream,
     [](const subject& of) {
         int level;
         return hmmStreamGetPriority(of.stream, &level);
     }},
    {"hmmStreamGetDevice", takes_stream,
     [](const subject& of) {
         int number;
         return hmmStreamGetDevice(of.stream, &number);
     }},
    {"hmmStreamSynchronize", takes_stream | uses_device,
     [](const subject& of) { return hmmStreamSynchronize(of.stream); }},
    {"hmmStreamQuery", takes_stream | uses_device,
     [](const subject& of) {
         const hmmError_t code = hmmStreamQuery(of.stream);
         return code == hmmErrorNotReady ? hmmSuccess : code;
     }},
    {"hmmStreamWaitEvent", takes_stream | takes_event | uses_device,
     [](const subject& of) { return hmmStreamWaitEvent(of.stream, of.event, 0); }},
    {"hmmLaunchHostFunc", takes_stream | uses_device,
     [](const subject& of) { return hmmLaunchHostFunc(of.stream, nothing_to_do, nullptr); }},
    {"hmmLaunchHostClosure", takes_stream | uses_device,
     [](const subject& of) {
         return hmmLaunchHostClosure(nothing_to_do, nullptr, nullptr, of.stream);
     }},
    {"hmmEventRecord", takes_stream | takes_event | uses_device,
     [](const subject& of) { return hmmEventRecord(of.event, of.stream); }},
    {"hmmEventQuery", takes_event,
     [](const subject& of) {
         const hmmError_t code = hmmEventQuery(of.event);
         return code == hmmErrorNotReady ? hmmSuccess : code;
     }},
    {"hmmEventSynchronize", takes_event,
     [](const subject& of) { return hmmEventSynchronize(of.event); }},
    {"hmmMemPrefetchAsync", queues_range | takes_stream | takes_location | uses_device,
     [](const subject& of) {
         return hmmMemPrefetchAsync(of.ptr, of.bytes, of.where, 0, of.stream);
     }},
    {"hmmMemPrefetchBatchAsync", queues_range | takes_stream | takes_location | uses_device,
     [](const subject& of) { return prefetch_batch(of, hmmMemPrefetchBatchAsync); }},
    {"hmmMemPrefetchWithReport", takes_range | takes_location,
     [](const subject& of) {
         return hmmMemPrefetchWithReport(of.ptr, of.bytes, of.where, nullptr, 0, nullptr);
     }},
    {"hmmMemDiscardBatchAsync", queues_range | takes_stream | uses_device,
     [](const subject& of) {
         return hmmMemDiscardBatchAsync(&of.ptr, &of.bytes, 1, 0, of.stream);
     }},
    {"hmmMemDiscardAndPrefetchBatchAsync",
     queues_range | takes_stream | takes_location | uses_device,
     [](const subject& of) { return prefetch_batch(of, hmmMemDiscardAndPrefetchBatchAsync); }},
    {"hmmMemAdvise", takes_range | takes_location,
     [](const subject& of) {
         return hmmMemAdvise(of.ptr, of.bytes, hmmMemAdviseSetPreferredLocation, of.where);
     }},
    {"hmmMemAdviseAsync", queues_range | takes_stream | takes_location | uses_device,
     [](const subject& of) {
         return hmmMemAdviseAsync(of.ptr, of.bytes, hmmMemAdviseSetPreferredLocation, of.where,
                                  of.stream);
     }},
    {"hmmMemSetGranularity", takes_range,
     [](const subject& of) { return hmmMemSetGranularity(of.ptr, of.bytes, 0); }},
    {"hmmMemRangeGetAttribute", takes_range,
     [](const subject& of) {
         int value;
         return hmmMemRangeGetAttribute(&value, sizeof(value), hmmMemRangeAttributeReadMostly,
                                        of.ptr, of.bytes);
     }},
    {"hmmMemRangeGetAttributes", takes_range,
     [](const subject& of) {
         int value;
         void* const data = &value;
         const std::size_t size = sizeof(value);
         const auto which = hmmMemRangeAttributeReadMostly;
         return hmmMemRangeGetAttributes(&data, &size, &which, 1, of.ptr, of.bytes);
     }},
    {"hmmPointerGetAttributes", 0,
     [](const subject& of) {
         hmmPointerAttributes found;
         return hmmPointerGetAttributes(&found, of.ptr);
     }},
    {"hmmMemGetResidency", takes_range,
     [](const subject& of) {
         hmmPageState states[2];
         return hmmMemGetResidency(of.ptr, of.bytes, states, 2);
     }},
    {"hmmMemcpyAsync", wraps_too | takes_stream | uses_device,
     [](const subject& of) {
         auto* const from = static_cast<char*>(of.ptr) + 4096;
         return hmmMemcpyAsync(of.ptr, from, of.bytes, hmmMemcpyDefault, of.stream);
     }},
    {"hmmMemcpy", wraps_too | uses_device,
     [](const subject& of) {
         return hmmMemcpy(of.ptr, static_cast<char*>(of.ptr) + 4096, of.bytes, hmmMemcpyDefault);
     }},
    {"hmmMemsetAsync", wraps_too | takes_stream | uses_device,
     [](const subject& of) { return hmmMemsetAsync(of.ptr, 1, of.bytes, of.stream); }},
    {"hmmMemset", wraps_too | uses_device,
     [](const subject& of) { return hmmMemset(of.ptr, 1, of.bytes); }},
    {"hmmMemcpyPeerAsync", wraps_too | takes_stream | takes_device | uses_device,
     [](const subject& of) {
         auto* const from = static_cast<char*>(of.ptr) + 4096;
         return hmmMemcpyPeerAsync(of.ptr, of.device, from, 0, of.bytes, of.stream);
     }},
    {"hmmMemcpyPeer", wraps_too | takes_device | uses_device,
     [](const subject& of) {
         auto* const from = static_cast<char*>(of.ptr) + 4096;
         return hmmMemcpyPeer(of.ptr, 0, from, of.device, of.bytes);
     }},
    {"hmmMemcpy2DAsync", wraps_too | takes_stream | uses_device,
     [](const subject& of) {
         auto* const from = static_cast<char*>(of.ptr) + 4096;
         return hmmMemcpy2DAsync(of.ptr, of.bytes, from, of.bytes, of.bytes, 1, hmmMemcpyDefault,
                                 of.stream);
     }},
    {"hmmMemcpy2D", wraps_too | uses_device,
     [](const subject& of) {
         auto* const from = static_cast<char*>(of.ptr) + 4096;
         return hmmMemcpy2D(of.ptr, of.bytes, from, of.bytes, of.bytes, 1, hmmMemcpyDefault);
     }},
    {"hmmMemset2DAsync", wraps_too | takes_stream | uses_device,
     [](const subject& of) {
         return hmmMemset2DAsync(of.ptr, of.bytes, 1, of.bytes, 1, of.stream);
     }},
    {"hmmMemset2D", wraps_too | uses_device,
     [](const subject& of) { return hmmMemset2D(of.ptr, of.bytes, 1, of.bytes, 1); }},
    {"hmmMemcpy3DAsync", wraps_too | takes_stream | uses_device,
     [](const subject& of) {
         const hmmMemcpy3DParms params = box_copy(of);
         return hmmMemcpy3DAsync(&params, of.stream);
     }},
    {"hmmMemcpy3D", wraps_too | uses_device,
     [](const subject& of) {
         const hmmMemcpy3DParms params = box_copy(of);
         return hmmMemcpy3D(&params);
     }},
    {"hmmMemset3DAsync", wraps_too | takes_stream | uses_device,
     [](const subject& of) {
         return hmmMemset3DAsync(box_copy(of).dstPtr, 1, {of.bytes, 1, 1}, of.stream);
     }},
    {"hmmMemset3D", wraps_too | uses_device,
     [](const subject& of) {
         return hmmMemset3D(box_copy(of).dstPtr, 1, {of.bytes, 1, 1});
     }},
    {"hmmStreamAttachMemAsync", takes_range | takes_stream,
     [](const subject& of) {
         return hmmStreamAttachMemAsync(of.stream, of.ptr, of.bytes, hmmMemAttachGlobal);
     }},
    {"hmmStreamAddCallback", takes_stream | uses_device,
     [](const subject& of) {
         const auto nothing = [](hmmStream_t, hmmError_t, void*) {};
         return hmmStreamAddCallback(of.stream, nothing, nullptr, 0);
     }},
    {"hmmMalloc", uses_device,
     [](const subject&) {
         void* memory = nullptr;
         const hmmError_t code = hmmMalloc(&memory, 1);
         if (code == hmmSuccess) hmmFree(memory);
         return code;
     }},
    {"hmmMallocAsync", takes_stream | uses_device,
     [](const subject& of) {
         void* memory = nullptr;
         const hmmError_t code = hmmMallocAsync(&memory, 1, of.stream);
         if (code == hmmSuccess) hmmFreeAsync(memory, of.stream);
         return code;
     }},
    {"hmmMallocFromPoolAsync", takes_stream | uses_device,
     [](const subject& of) {
         hmmMemPool_t pool = nullptr;
         void* memory = nullptr;
         hmmError_t code = hmmDeviceGetDefaultMemPool(&pool, 0);
         if (code == hmmSuccess) code = hmmMallocFromPoolAsync(&memory, 1, pool, of.stream);
         if (code == hmmSuccess) hmmFreeAsync(memory, of.stream);
         return code;
     }},
    {"hmmMemPoolCreate", takes_device,
     [](const subject& of) {
         hmmMemPool_t pool = nullptr;
         hmmMemPoolProps props = {};
         props.allocType = hmmMemAllocationTypePinned;
         props.location = {hmmMemLocationTypeDevice, of.device};
         const hmmError_t code = hmmMemPoolCreate(&pool, &props);
         if (code == hmmSuccess) hmmMemPoolDestroy(pool);
         return code;
     }},
    {"hmmDeviceGetDefaultMemPool", takes_device,
     [](const subject& of) {
         hmmMemPool_t pool;
         return hmmDeviceGetDefaultMemPool(&pool, of.device);
     }},
    {"hmmDeviceGetMemPool", takes_device,
     [](const subject& of) {
         hmmMemPool_t pool;
         return hmmDeviceGetMemPool(&pool, of.device);
     }},
    {"hmmDeviceSetMemPool", takes_device,
     [](const subject& of) {
         hmmMemPool_t pool = nullptr;
         hmmDeviceGetDefaultMemPool(&pool, of.device);
         return hmmDeviceSetMemPool(of.device, pool);
     }},
    {"hmmRuntimeGetVersion", keeps_no_device,
     [](const subject&) {
         int version;
         return hmmRuntimeGetVersion(&version);
     }},
    {"hmmDriverGetVersion", keeps_no_device,
     [](const subject&) {
         int version;
         return hmmDriverGetVersion(&version);
     }},
    {"hmmSetDeviceFlags", 0, [](const subject&) { return hmmSetDeviceFlags(0); }},
    {"hmmGetDeviceFlags", 0,
     [](const subject&) {
         unsigned flags;
         return hmmGetDeviceFlags(&flags);
     }},
    {"hmmDeviceGetLimit", 0,
     [](const subject&) {
         std::size_t value;
         return hmmDeviceGetLimit(&value, hmmLimitStackSize);
     }},
    {"hmmDeviceSetLimit", 0,
     [](const subject&) { return hmmDeviceSetLimit(hmmLimitStackSize, 1024); }},
    {"hmmFuncGetAttributes", 0,
     [](const subject&) {
         hmmFuncAttributes found;
         return hmmFuncGetAttributes(&found, no_items);
     }},
    {"hmmOccupancyMaxActiveBlocksPerMultiprocessor", 0,
     [](const subject&) {
         int blocks;
         return hmmOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, no_items, 1, 0);
     }},
    {"hmmOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 0,
     [](const subject&) {
         int blocks;
         return hmmOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, no_items, 1, 0, 0);
     }},
    {"hmmOccupancyMaxPotentialBlockSize", 0,
     [](const subject&) {
         int grid, block;
         return hmmOccupancyMaxPotentialBlockSize(&grid, &block, no_items);
     }},
    {"hmmOccupancyAvailableDynamicSMemPerBlock", 0,
     [](const subject&) {
         std::size_t bytes;
         return hmmOccupancyAvailableDynamicSMemPerBlock(&bytes, no_items, 1, 1);
     }},
    {"hmmKnobGetCount", 0,
     [](const subject&) {
         int n;
         return hmmKnobGetCount(&n);
     }},
    {"hmmKnobGetByIndex", 0,
     [](const subject&) {
         hmmKnob knob;
         return hmmKnobGetByIndex(&knob, 0);
     }},
    {"hmmKnobGet", takes_range,
     [](const subject& of) {
         hmmKnob knob;
         return hmmKnobGet(&knob, "prefetch_threshold", range_scope(of));
     }},
    {"hmmKnobSet", takes_range,
     [](const subject& of) { return hmmKnobSet("prefetch_threshold", 1, range_scope(of)); }},
    {"hmmKnobReset", takes_range,
     [](const subject& of) { return hmmKnobReset("prefetch_threshold", range_scope(of)); }},
    {"hmmQuotaGet", uses_device,
     [](const subject&) {
         hmmQuota quota;
         return hmmQuotaGet(&quota, own_quota);
     }},
    {"hmmGetStats", 0,
     [](const subject&) {
         hmmStats stats;
         return hmmGetStats(&stats);
     }},
    {"hmmQuotaSet", uses_device, [](const subject&) { return hmmQuotaSet(1 << 20, 1, own_quota); }},
    {"hmmGetLastFault", 0,
     [](const subject&) {
         hmmFaultRecord record;
         return hmmGetLastFault(&record);
     }},
    {"hmmMemGetAllocationGranularity", takes_location,
     [](const subject& of) {
         std::size_t granularity = 0;
         const hmmMemAllocationProp prop = pinned_on(of.where);
         return hmmMemGetAllocationGranularity(&granularity, &prop,
                                               hmmMemAllocationGranularityMinimum);
     }},
    {"hmadvise", wraps_too,
     [](const subject& of) {
         return recorded(
             hmadvise(gmemHnidOfDevice(of.device), address_of(of), of.bytes, MADV_PREFETCH));
     }},
    {"gmemPrefetch", wraps_too | takes_stream,
     [](const subject& of) {
         return recorded(
             gmemPrefetch(address_of(of), of.bytes, gmemHnidOfDevice(of.device), of.stream));
     }},
    {"gmemFreeEager", wraps_too | takes_stream | keeps_no_device,
     [](const subject& of) {
         return recorded(gmemFreeEager(address_of(of), of.bytes, of.stream));
     }},
    {"gmemGetNumaId", 0,
     [](const subject&) {
         const int hnid = gmemGetNumaId();
         return hnid < 0 ? recorded(hnid) : hmmSuccess;
     }},
};

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
    hmmMemPoolProps props = {};
    props.allocType = hmmMemAllocationTypePinned;
    props.location = {hmmMemLocationTypeDevice, 0};
    const auto threshold = hmmMemPoolAttrReleaseThreshold;
    return {
        {"hmmMalloc", hmmMalloc(&pointer, 1)},
        {"hmmFree", hmmFree(pointer)},
        {"hmmHostAlloc", hmmHostAlloc(&pointer, 1, hmmHostAllocDefault)},
        {"hmmFreeHost", hmmFreeHost(pointer)},
        {"hmmMallocHost", hmmMallocHost(&pointer, 1)},
        {"hmmFreeHost", hmmFreeHost(pointer)},
        {"hmmMallocPitch", hmmMallocPitch(&pointer, &pitch, 1, 1)},
        {"hmmFree", hmmFree(pointer)},
        {"hmmMalloc3D", hmmMalloc3D(&box, {1, 1, 1})},
        {"hmmFree", hmmFree(box.ptr)},
        {"hmmMemPoolCreate", hmmMemPoolCreate(&pool, &props)},
        {"hmmMallocFromPoolAsync", hmmMallocFromPoolAsync(&pointer, 1, pool, nullptr)},
        {"hmmFreeAsync", hmmFreeAsync(pointer, nullptr)},
        {"hmmMemPoolGetAttribute", hmmMemPoolGetAttribute(pool, threshold, &value)},
        {"hmmMemPoolSetAttribute", hmmMemPoolSetAttribute(pool, threshold, &value)},
        {"hmmMemPoolTrimTo", hmmMemPoolTrimTo(pool, 0)},
        {"hmmMemPoolDestroy", hmmMemPoolDestroy(pool)},
        {"hmmStreamCreate", hmmStreamCreate(&stream)},
        {"hmmStreamDestroy", hmmStreamDestroy(stream)},
        {"hmmStreamCreateWithFlags", hmmStreamCreateWithFlags(&stream, hmmStreamNonBlocking)},
        {"hmmStreamDestroy", hmmStreamDestroy(stream)},
        {"hmmStreamCreateWithPriority", hmmStreamCreateWithPriority(&stream, 0, -1)},
        {"hmmStreamDestroy", hmmStreamDestroy(stream)},
        {"hmmEventCreate", hmmEventCreate(&event)},
        {"hmmEventDestroy", hmmEventDestroy(event)},
        {"hmmEventCreateWithFlags", hmmEventCreateWithFlags(&event, 0)},
        {"hmmEventDestroy", hmmEventDestroy(event)},
        {"hmmHostRegister", hmmHostRegister(of.ptr, of.bytes, 0)},
        {"hmmHostGetFlags", hmmHostGetFlags(&flags, of.ptr)},
        {"hmmHostGetDevicePointer", hmmHostGetDevicePointer(&pointer, of.ptr, 0)},
        {"hmmHostUnregister", hmmHostUnregister(of.ptr)},
        {"hmmMallocManaged", hmmMallocManaged(&pointer, 1, hmmMemAttachGlobal)},
        {"hmmFree", hmmFree(pointer)},
        {"hmmDeviceEnablePeerAccess", hmmDeviceEnablePeerAccess(1, 0)},
        {"hmmDeviceDisablePeerAccess", hmmDeviceDisablePeerAccess(1)},
        {"hmmDeviceReset", hmmDeviceReset()},
    };
}

/// Outcomes of both groups of calls.
std::vector<outcome> outcomes_of_all(const subject& of) {
    std::vector<outcome> all = make_and_give_back(of);
    for (const outcome& each : map_and_unmap())
        all.push_back(each);
    for (const call& each : calls)
        all.push_back({each.name, each.run(of)});
    return all;
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
    for (const outcome& each : make_and_give_back(of))
        EXPECT_EQ(each.code, hmmSuccess) << each.name;
    for (const outcome& each : map_and_unmap())
        EXPECT_EQ(each.code, hmmSuccess) << each.name;
}

TEST_F(EveryCall, WithNullForItsResultIsRefused) {
    void* const data = memory().data();
    std::size_t bytes = 0;
    const auto which = hmmMemRangeAttributeReadMostly;
    const outcome outcomes[] = {
        {"hmmGetDeviceCount", hmmGetDeviceCount(nullptr)},
        {"hmmGetDevice", hmmGetDevice(nullptr)},
        {"hmmGetDeviceProperties", hmmGetDeviceProperties(nullptr, 0)},
        {"hmmDeviceGetAttribute", hmmDeviceGetAttribute(nullptr, hmmDevAttrManagedMemory, 0)},
        {"hmmMemGetInfo, free", hmmMemGetInfo(nullptr, &bytes)},
        {"hmmMemGetInfo, total", hmmMemGetInfo(&bytes, nullptr)},
        {"hmmDeviceCanAccessPeer", hmmDeviceCanAccessPeer(nullptr, 0, 1)},
        {"hmmStreamCreate", hmmStreamCreate(nullptr)},
        {"hmmStreamCreateWithFlags", hmmStreamCreateWithFlags(nullptr, 0)},
        {"hmmStreamCreateWithPriority", hmmStreamCreateWithPriority(nullptr, 0, 0)},
        {"hmmStreamGetFlags", hmmStreamGetFlags(nullptr, nullptr)},
        {"hmmStreamGetPriority", hmmStreamGetPriority(nullptr, nullptr)},
        {"hmmStreamGetDevice", hmmStreamGetDevice(nullptr, nullptr)},
        {"hmmEventCreate", hmmEventCreate(nullptr)},
        {"hmmEventCreateWithFlags", hmmEventCreateWithFlags(nullptr, 0)},
        {"hmmEventElapsedTime", hmmEventElapsedTime(nullptr, event_.get(), event_.get())},
        {"hmmMemRangeGetAttribute", hmmMemRangeGetAttribute(nullptr, 4, which, data, page)},
        {"hmmPointerGetAttributes", hmmPointerGetAttributes(nullptr, data)},
        {"hmmMemGetResidency", hmmMemGetResidency(data, page, nullptr, 1)},
        {"hmmMallocManaged", hmmMallocManaged(nullptr, page, hmmMemAttachGlobal)},
        {"hmmHostGetDevicePointer", hmmHostGetDevicePointer(nullptr, data, 0)},
        {"hmmHostGetFlags", hmmHostGetFlags(nullptr, data)},
        {"hmmKnobGetCount", hmmKnobGetCount(nullptr)},
        {"hmmKnobGetByIndex", hmmKnobGetByIndex(nullptr, 0)},
        {"hmmKnobGet", hmmKnobGet(nullptr, "prefetch_threshold", range_scope(good()))},
        {"hmmQuotaGet", hmmQuotaGet(nullptr, own_quota)},
        {"hmmGetStats", hmmGetStats(nullptr)},
        {"hmmGetLastErrorRecord", hmmGetLastErrorRecord(nullptr)},
        {"hmmGetLastFault", hmmGetLastFault(nullptr)},
    };
    for (const outcome& each : outcomes)
        EXPECT_EQ(each.code, hmmErrorInvalidValue) << each.name;
}

TEST_F(EveryCall, ThatAllocatesOrQueriesRefusesNullForItsResult) {
    void* nowhere = nullptr;
    std::size_t bytes = 0;
    hmmMemPool_t pool = nullptr;
    hmmMemGenericAllocationHandle handle = 0;
    const hmmMemAllocationProp pinned = pinned_on(on(0));
    ASSERT_EQ(hmmDeviceGetDefaultMemPool(&pool, 0), hmmSuccess);
    const outcome outcomes[] = {
        {"hmmMalloc", hmmMalloc(nullptr, page)},
        {"hmmHostAlloc", hmmHostAlloc(nullptr, page, 0)},
        {"hmmMallocHost", hmmMallocHost(nullptr, page)},
        {"hmmMallocPitch", hmmMallocPitch(nullptr, &bytes, 1, 1)},
        {"hmmMallocPitch, pitch", hmmMallocPitch(&nowhere, nullptr, 1, 1)},
        {"hmmMalloc3D", hmmMalloc3D(nullptr, {1, 1, 1})},
        {"hmmMallocAsync", hmmMallocAsync(nullptr, page, nullptr)},
        {"hmmMallocFromPoolAsync", hmmMallocFromPoolAsync(nullptr, page, pool, nullptr)},
        {"hmmMemPoolCreate", hmmMemPoolCreate(nullptr, nullptr)},
        {"hmmMemPoolGetAttribute",
         hmmMemPoolGetAttribute(pool, hmmMemPoolAttrUsedMemCurrent, nullptr)},
        {"hmmMemPoolSetAttribute",
         hmmMemPoolSetAttribute(pool, hmmMemPoolAttrReleaseThreshold, nullptr)},
        {"hmmDeviceGetDefaultMemPool", hmmDeviceGetDefaultMemPool(nullptr, 0)},
        {"hmmDeviceGetMemPool", hmmDeviceGetMemPool(nullptr, 0)},
        {"hmmMemcpy3D", hmmMemcpy3D(nullptr)},
        {"hmmMemcpy3DAsync", hmmMemcpy3DAsync(nullptr)},
        {"hmmRuntimeGetVersion", hmmRuntimeGetVersion(nullptr)},
        {"hmmDriverGetVersion", hmmDriverGetVersion(nullptr)},
        {"hmmGetDeviceFlags", hmmGetDeviceFlags(nullptr)},
        {"hmmDeviceGetLimit", hmmDeviceGetLimit(nullptr, hmmLimitStackSize)},
        {"hmmFuncGetAttributes", hmmFuncGetAttributes(nullptr, no_items)},
        {"hmmOccupancyMaxActiveBlocksPerMultiprocessor",
         hmmOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, no_items, 1, 0)},
        {"hmmOccupancyMaxPotentialBlockSize",
         hmmOccupancyMaxPotentialBlockSize(nullptr, nullptr, no_items)},
        {"hmmOccupancyAvailableDynamicSMemPerBlock",
         hmmOccupancyAvailableDynamicSMemPerBlock(nullptr, no_items, 1, 1)},
        {"hmmStreamAddCallback", hmmStreamAddCallback(nullptr, nullptr, nullptr, 0)},
        {"hmmMemCreate", hmmMemCreate(nullptr, 2 << 20, &pinned, 0)},
        {"hmmMemCreate, prop", hmmMemCreate(&handle, 2 << 20, nullptr, 0)},
        {"hmmMemGetAllocationGranularity",
         hmmMemGetAllocationGranularity(nullptr, &pinned, hmmMemAllocationGranularityMinimum)},
        {"hmmMemRetainAllocationHandle", hmmMemRetainAllocationHandle(nullptr, nullptr)},
        {"hmmMemAddressReserve", hmmMemAddressReserve(nullptr, 2 << 20, 0, 0, 0)},
        {"hmmMemImportFromShareableHandle",
         hmmMemImportFromShareableHandle(nullptr, nullptr, hmmMemHandleTypePosixFileDescriptor)},
        {"hmmMemGetAllocationPropertiesFromHandle",
         hmmMemGetAllocationPropertiesFromHandle(nullptr, 0)},
        {"hmmMemExportToShareableHandle",
         hmmMemExportToShareableHandle(nullptr, 0, hmmMemHandleTypePosixFileDescriptor, 0)},
        {"hmmMemGetAccess", hmmMemGetAccess(nullptr, &pinned.location, 0)},
    };
    for (const outcome& each : outcomes)
        EXPECT_EQ(each.code, hmmErrorInvalidValue) << each.name;
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
    for (const outcome& each : outcomes)
        EXPECT_EQ(each.code, hmmErrorNotPermitted) << each.name;
    EXPECT_EQ(kernel.memory.prefetches.size(), before);
}

TEST_F(EveryCall, InAChildOfForkIsRefused) {
    const subject of = good();
    hmm::launch(1, [](std::size_t) {});
    hmm::synchronize();
    const pid_t child = fork();
    if (child == 0) {
        int wrong = 0;
        for (const outcome& each : outcomes_of_all(of)) {
            if (each.code == hmmErrorForkedProcess) continue;
            std::fprintf(stderr, "%s: %d\n", each.name, each.code);
            wrong = 1;
        }
        _exit(wrong);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

struct cancelled_thread {
    subject of;
    std::vector<outcome> outcomes;
    bool went_on = false;

    static void* run(void* raw) {
        auto& self = *static_cast<cancelled_thread*>(raw);
        pthread_cancel(pthread_self());
        for (const call& each : calls)
            self.outcomes.push_back({each.name, each.run(self.of)});
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
    for (const outcome& each : self.outcomes)
        EXPECT_EQ(each.code, hmmSuccess) << each.name;
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

TEST_F(EveryCall, ThatIsExportedIsHere) {
    std::set<std::string> known = {
        "hmmClosureAllocate",       "hmmClosureFree",         "hmmGetErrorName",
        "hmmGetErrorString",        "hmmGetLastError",        "hmmPeekAtLastError",
        "hmmGetLastErrorDetail",    "hmmEventElapsedTime",    "hmmGetLastErrorRecord",
        "hmmGetLastErrorException", "hmmEndLaunchByException"}; // terminates the program outside of
                                                                // kernels
    for (const outcome& each : outcomes_of_all(good()))
        known.insert(each.name);
    std::set<std::string> exported;
    std::ifstream map(HMMRT_EXPORTS);
    for (std::string word; map >> word;)
        if (word.size() > 2 && word.back() == ';') exported.insert(word.substr(0, word.size() - 1));
    EXPECT_EQ(exported, known);
}

} // namespace
