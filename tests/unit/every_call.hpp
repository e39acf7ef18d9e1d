// SPDX-License-Identifier: MIT
// Every function of the interface that doesn't need the result of another call, with the kinds of
// arguments that it takes.
#pragma once

#include "virtual_memory_fixture.hpp"

#include "hmm/gmem.h"

#include <cstddef>
#include <cstdint>

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

inline void nothing_to_do(void*) {}
inline void no_items(void*, std::uint64_t, std::uint64_t) {}
inline void no_thread(const hmmThreadIndex*, void*) {}

inline hmmError_t prefetch_batch(const subject& of, decltype(hmmMemPrefetchBatchAsync) queue) {
    const std::size_t first = 0;
    return queue(&of.ptr, &of.bytes, 1, &of.where, &first, 1, 0, of.stream);
}

inline hmmKnobScope range_scope(const subject& of) {
    return {hmmKnobScopeTypeRange, of.ptr, of.bytes};
}

/// Copies a row of this size from the next page.
inline hmmMemcpy3DParms box_copy(const subject& of) {
    hmmMemcpy3DParms params = {};
    params.dstPtr = make_hmmPitchedPtr(of.ptr, of.bytes, of.bytes, 1);
    params.srcPtr = make_hmmPitchedPtr(static_cast<char*>(of.ptr) + 4096, of.bytes, of.bytes, 1);
    params.extent = {of.bytes, 1, 1};
    params.kind = hmmMemcpyDefault;
    return params;
}

inline unsigned long address_of(const subject& of) {
    return reinterpret_cast<unsigned long>(of.ptr);
}

/// The error that a call of GMEM has recorded, if it failed.
inline hmmError_t recorded(int result) {
    return result == -1 ? hmmPeekAtLastError() : hmmSuccess;
}

inline constexpr hmmQuotaScope own_quota = {hmmQuotaScopeTypeProcess, 0};

inline constexpr call calls[] = {
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
    {"hmmRegisterVariable", keeps_no_device,
     [](const subject&) {
         static int variable;
         return hmmRegisterVariable(&variable, sizeof(variable), 0);
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
    {"hmmMark", 0, [](const subject&) { return hmmMark("here"); }},
    {"hmmRangePush", keeps_no_device,
     [](const subject&) {
         const hmmError_t code = hmmRangePush("section");
         hmmRangePop();
         return code;
     }},
    {"hmmRangePop", 0,
     [](const subject&) {
         hmmRangePush("section");
         return hmmRangePop();
     }},
    {"hmmMemSetName", wraps_too,
     [](const subject& of) { return hmmMemSetName(of.ptr, of.bytes, "name"); }},
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
