/* SPDX-License-Identifier: MIT */
/*
 * hmmrt: the C interface, usable from C and C++.
 *
 * Names and meanings follow CUDA's runtime with `hmm` for `cuda`, so that a
 * unified-memory program ports by search and replace: what it calls, in C++ with
 * the overloads and default arguments that it is used to (hmm_overloads.hpp). What
 * differs is said function by function in docs/api.md. The words of the language
 * that are no functions (__global__, threadIdx, dim3) are in hmm_language.hpp;
 * f<<<grid, block>>>(x) has to be written as hmmLaunchKernel(). The main difference:
 * device code is native code of this very program, so every pointer that is valid on
 * the CPU is valid in a kernel (heap, stack, globals, mapped files), and so is
 * every function pointer.
 *
 * Work is queued in streams and runs asynchronously: in order in one stream,
 * side by side in several, as far as there are lanes. hmmDeviceSynchronize()
 * waits for all of it. A kernel that fails (illegal address, abort, ...) ends
 * its launch, not the program: the device keeps the error (it is *sticky*, and
 * all its streams report it) until hmmDeviceReset(). Locks that the kernel held
 * then, malloc's included, are left as they were.
 *
 * Errors: every function returns one, and remembers it for the calling thread
 * (hmmGetLastError). hmmGetLastErrorDetail() says in words what went wrong.
 *
 * Structs that the library fills end in @reserved, which it sets to zero. A later version
 * may give part of it a meaning, of which zero says what was before; sizes and the members
 * that are here stay. In a struct that the program fills, @reserved has to be zero:
 * hmmErrorInvalidValue if it is not. Structs that are passed by value do not change.
 *
 * Calls from inside a kernel return hmmErrorNotSupported, calls from a host
 * function hmmErrorNotPermitted, calls in a fork()ed child of a process that had
 * used a device hmmErrorForkedProcess.
 *
 * No function is a cancellation point: a thread that is cancelled with pthread_cancel(), of
 * deferred type, returns from the call that it is in before it ends.
 */
#ifndef HMM_HMM_RUNTIME_H
#define HMM_HMM_RUNTIME_H

#include "hmm_allocation.h"
#include "hmm_copy.h"
#include "hmm_properties.h"
#include "hmm_queries.h"
#include "hmm_types.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices ---------------------------------------------------------- */

HMM_API hmmError_t hmmGetDeviceCount(int* count);
/* The calling thread's device for all that follows; 0 at first. */
HMM_API hmmError_t hmmSetDevice(int device);
HMM_API hmmError_t hmmGetDevice(int* device);
/* Device memory of the current device, all processes together. */
HMM_API hmmError_t hmmMemGetInfo(size_t* free_bytes, size_t* total_bytes);
/* Waits until all work queued on the current device is done. */
HMM_API hmmError_t hmmDeviceSynchronize(void);
/*
 * Ends whatever runs on the current device, brings its memory home and forgets
 * a sticky error. Its streams and events are gone, but for the default ones, and so is
 * advice that names it. A host function that has begun is waited for, others are not
 * called. Who is waiting for its work gets hmmErrorDeviceLost; who waits afterwards has
 * nothing to wait for. The next launch starts afresh.
 */
HMM_API hmmError_t hmmDeviceReset(void);

/*
 * Whether @device can use @peer's memory where it is: 0 or 1; a device and itself: 0.
 * Starts both devices.
 */
HMM_API hmmError_t hmmDeviceCanAccessPeer(int* canAccessPeer, int device, int peer);
/*
 * From now on, what the current device touches on @peer is mapped there instead of
 * moved, where the peer's memory is preferred or nothing else moves it. Concerns this
 * process, this direction, and ends when one of the two devices is reset. @flags must be
 * 0. hmmErrorInvalidDevice for the current device itself;
 * hmmErrorPeerAccessAlreadyEnabled; hmmErrorPeerAccessUnsupported.
 */
HMM_API hmmError_t hmmDeviceEnablePeerAccess(int peer, unsigned int flags);
/* hmmErrorPeerAccessNotEnabled if it is not. */
HMM_API hmmError_t hmmDeviceDisablePeerAccess(int peer);

/* ---- kernels ---------------------------------------------------------- */

typedef struct hmmThreadIndex {
    hmmDim3 threadIdx, blockIdx, blockDim, gridDim;
} hmmThreadIndex;

/*
 * A kernel, called once for each thread of the grid. `args` is the copy that
 * hmmLaunchFunction() made of the caller's arguments.
 *
 *     struct scale_args { float *data; float factor; };
 *     static void scale(const hmmThreadIndex *index, void *args)
 *     {
 *         struct scale_args *a = args;
 *         size_t i = (size_t)index->blockIdx.x * index->blockDim.x + index->threadIdx.x;
 *         a->data[i] *= a->factor;
 *     }
 *     ...
 *     struct scale_args a = {data, 2.0f};
 *     hmmLaunchFunction(scale, (hmmDim3){n / 256, 1, 1}, (hmmDim3){256, 1, 1}, &a, sizeof(a), 0,
 * 0);
 */
typedef void (*hmmKernel_t)(const hmmThreadIndex* index, void* args);

/*
 * Queues kernel(index, args) for all threads of all blocks. @argsBytes bytes at
 * @args are copied now; with @argsBytes 0 the pointer itself is handed on. There
 * is no barrier between the threads of a block, and no shared memory: for @sharedMem
 * other than 0 hmmErrorNotSupported. hmmErrorInvalidDeviceFunction if @kernel is NULL;
 * hmmErrorInvalidConfiguration if a dimension is 0 or the threads are 2^64 or more.
 *
 * CUDA's hmmLaunchKernel(), which takes a function of any parameters and an array of
 * pointers to arguments, has to know the types: there it is in C++ (hmm_overloads.hpp).
 * C has no function of that name.
 */
HMM_API hmmError_t hmmLaunchFunction(hmmKernel_t kernel, hmmDim3 gridDim, hmmDim3 blockDim,
                                     const void* args, size_t argsBytes, size_t sharedMem,
                                     hmmStream_t stream);

/* Runs items [begin, end) of a range. */
typedef void (*hmmRangeFunction_t)(void* closure, uint64_t begin, uint64_t end);
/* Called on the CPU, after the launch, by some thread inside an hmm call. */
typedef void (*hmmDestroyFunction_t)(void* closure);

/*
 * Queues fn over [0, count), in pieces on all lanes. If @destroy is not NULL it
 * is called with @closure once, when the launch is over; if the call itself
 * fails, the closure stays the caller's. @stream belongs to the current device.
 */
HMM_API hmmError_t hmmLaunchRange(hmmRangeFunction_t fn, void* closure, uint64_t count,
                                  hmmDestroyFunction_t destroy, hmmStream_t stream);

/*
 * Memory for closures, aligned to 64 bytes; NULL if there is none. Small ones stay
 * where both sides reach them: a closure on the heap would travel at each launch.
 */
HMM_API void* hmmClosureAllocate(size_t bytes);
HMM_API void hmmClosureFree(void* closure);

/*
 * Strict mode: a kernel that makes a system call fails with
 * hmmErrorSystemCall, as a GPU would refuse it. Off by default; on if
 * HMMRT_STRICT=1 is set or the program runs under seccomp.
 */
HMM_API hmmError_t hmmSetStrict(int strict);

/* ---- streams ---------------------------------------------------------- */

/*
 * Work of a stream runs in the order in which it was queued, and side by side with
 * that of other streams.
 *
 * The legacy default stream (0, hmmStreamLegacy) is the exception: its work waits for
 * what was queued before in all blocking streams of the device, and what is queued
 * there later waits for it. Non-blocking streams know nothing of it.
 * hmmStreamPerThread is a blocking stream that each thread has of its own.
 *
 * A device has 16 queues for its streams: the legacy stream has one, blocking streams
 * have 6 (of high priority: 2), non-blocking ones 5 (2). Streams that share a queue
 * also wait for each other's work that was queued before. Who queues more than 256
 * pieces of work in one waits until there is room.
 */
#define hmmStreamLegacy ((hmmStream_t)0x1)
#define hmmStreamPerThread ((hmmStream_t)0x2)

#define hmmStreamDefault 0x0u
#define hmmStreamNonBlocking 0x1u

/* A stream of the current device; starts the device. */
HMM_API hmmError_t hmmStreamCreate(hmmStream_t* stream);
HMM_API hmmError_t hmmStreamCreateWithFlags(hmmStream_t* stream, unsigned int flags);
/* Lanes take work of a higher priority (a lower number) first; what runs is not
 * interrupted. A priority out of range becomes the nearest one. */
HMM_API hmmError_t hmmStreamCreateWithPriority(hmmStream_t* stream, unsigned int flags,
                                               int priority);
/* 0 and -1; either may be NULL. */
HMM_API hmmError_t hmmDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority);
HMM_API hmmError_t hmmStreamGetFlags(hmmStream_t stream, unsigned int* flags);
HMM_API hmmError_t hmmStreamGetPriority(hmmStream_t stream, int* priority);
HMM_API hmmError_t hmmStreamGetDevice(hmmStream_t stream, int* device);
/* Returns at once. Work that is queued still runs. */
HMM_API hmmError_t hmmStreamDestroy(hmmStream_t stream);
/*
 * Waits until all work of the stream is done; of the default stream, also that of the
 * streams it waits for. After a sticky error no host function of it is running any more;
 * what came with them is destroyed then, or when a device that is lost is reset.
 */
HMM_API hmmError_t hmmStreamSynchronize(hmmStream_t stream);
/* hmmErrorNotReady if it is not. */
HMM_API hmmError_t hmmStreamQuery(hmmStream_t stream);
/*
 * What is queued in @stream later waits for the event as it was recorded last, also on
 * another device; if it never was, for nothing. In the legacy default stream it is work
 * of that stream, whether the event has happened or not. A device that fails or is reset
 * holds up nobody who waits for its events. @flags must be 0.
 */
HMM_API hmmError_t hmmStreamWaitEvent(hmmStream_t stream, hmmEvent_t event,
                                      unsigned int flags HMM_DEFAULT(0));

typedef void (*hmmHostFn_t)(void* userData);

/*
 * Queues fn(userData), which is called on the CPU, by a thread of the library that
 * blocks all signals but those of its own instructions. It has to return: later work of
 * the stream waits for it. It must not call the library, nor wait for work of a device.
 * It is not called if the device has failed.
 */
HMM_API hmmError_t hmmLaunchHostFunc(hmmStream_t stream, hmmHostFn_t fn, void* userData);

/*
 * The same with something to destroy: destroy(closure) is called once, when fn has
 * returned or is not going to be called, and must not call the library either; if
 * this call itself fails, the closure stays the caller's.
 */
HMM_API hmmError_t hmmLaunchHostClosure(hmmHostFn_t fn, void* closure, hmmDestroyFunction_t destroy,
                                        hmmStream_t stream);

/*
 * Queues callback(stream, status, userData), which is called as a host function is, but also if the
 * device has failed or is reset before: @status then is the sticky error, or hmmErrorDeviceLost.
 * @flags must be 0.
 */
typedef void (*hmmStreamCallback_t)(hmmStream_t stream, hmmError_t status, void* userData);
HMM_API hmmError_t hmmStreamAddCallback(hmmStream_t stream, hmmStreamCallback_t callback,
                                        void* userData, unsigned int flags);

/* ---- events ----------------------------------------------------------- */

/* All waiting is done asleep: BlockingSync changes nothing. */
#define hmmEventDefault 0x0u
#define hmmEventBlockingSync 0x1u
#define hmmEventDisableTiming 0x2u

/* An event of the current device. */
HMM_API hmmError_t hmmEventCreate(hmmEvent_t* event);
HMM_API hmmError_t hmmEventCreateWithFlags(hmmEvent_t* event, unsigned int flags);
/* Puts the event behind the work of @stream, of the same device; forgets where it was before. */
HMM_API hmmError_t hmmEventRecord(hmmEvent_t event, hmmStream_t stream HMM_DEFAULT(nullptr));
/* hmmErrorNotReady until what was before it is done. Success if it was never recorded. */
HMM_API hmmError_t hmmEventQuery(hmmEvent_t event);
/* Waits until then; returns errors as a synchronisation with its device does. */
HMM_API hmmError_t hmmEventSynchronize(hmmEvent_t event);
/*
 * Milliseconds between two events, taken when the device got to them.
 * hmmErrorInvalidResourceHandle if one has no time or was never recorded.
 */
HMM_API hmmError_t hmmEventElapsedTime(float* ms, hmmEvent_t start, hmmEvent_t end);
/* Returns at once. Who waits for it goes on waiting for what was recorded. */
HMM_API hmmError_t hmmEventDestroy(hmmEvent_t event);

/* ---- memory ----------------------------------------------------------- */

/*
 * Ranges are [ptr, ptr + bytes), of any memory of the program, widened to whole pages
 * where nothing else is said. Of all calls here that take one: hmmErrorInvalidValue for
 * 0 bytes, for a range that leaves the address space, and for one with a part that is
 * not mapped. What is queued finds the last one only when it runs; then the next
 * synchronisation with its device, a stream or an event of it reports it, once, and it is
 * not sticky. Of several the first one is reported.
 *
 * A device that is named as a location is started; hmmErrorInvalidDevice if there is none
 * with that number. hmmErrorInvalidValue for an unknown type of location, and for a node
 * that the host does not have, of which queued work tells as of what is not mapped.
 */

/*
 * Moves the pages of the range, when the work queued before is done. Best effort: what
 * cannot move (files, shared or pinned memory) stays, and device accesses work all the
 * same. @flags must be 0.
 */
HMM_API hmmError_t hmmMemPrefetchAsync(const void* ptr, size_t bytes, hmmMemLocation location,
                                       unsigned int flags, hmmStream_t stream HMM_DEFAULT(nullptr));

/*
 * Moves @count ranges, each as hmmMemPrefetchAsync() does, one after the other. The
 * ranges from number firsts[i] to before firsts[i + 1], or to the end, go to
 * locations[i]; firsts[0] is 0, and they go up. If an argument is wrong nothing is
 * queued. @flags must be 0.
 */
HMM_API hmmError_t hmmMemPrefetchBatchAsync(void* const* ptrs, const size_t* sizes, size_t count,
                                            const hmmMemLocation* locations, const size_t* firsts,
                                            size_t locationCount, unsigned long long flags,
                                            hmmStream_t stream HMM_DEFAULT(nullptr));

/* Why a page did not move. */
typedef enum hmmStay {
    hmmStayBusy = 0, /* raced with its user, or with the kernel's own */
    hmmStayNoMemory, /* the destination is full */
    hmmStayPinned,   /* held for I/O, or locked: mlock(), hmmHostRegister() */
    hmmStayFile,     /* of a file, or shared memory */
    hmmStayHugetlb,
    hmmStayMerged,  /* by KSM, shared with who knows whom */
    hmmStaySpecial, /* device mappings, no permission to read, secretmem */
    hmmStayPolicy,  /* hmmMemAdviseSetNoMigrate */
    hmmStayWatched, /* by userfaultfd, with nothing there yet */
    hmmStayQuota,   /* the process or its cgroup may have no more there */
    hmmStayReasons = 12
} hmmStay;

/* What became of a page: one of the first two, or hmmOutcomeStayed(a hmmStay). */
typedef uint8_t hmmPageOutcome;
#define hmmOutcomeMoved ((hmmPageOutcome)0)
#define hmmOutcomeThere ((hmmPageOutcome)1)
#define hmmOutcomeStayed(stay) ((hmmPageOutcome)(2 + (stay)))

/* What became of all of them. */
typedef struct hmmPrefetchReport {
    size_t moved;                  /* pages */
    size_t there;                  /* pages that were there before, or had a copy there */
    size_t stayed[hmmStayReasons]; /* pages, by hmmStay */
    size_t reserved[4];
} hmmPrefetchReport;

/*
 * Moves the pages of the range at once, without waiting for any stream, and says what
 * became of them; of queued prefetches nobody says. @report: may be NULL; set on success.
 * @outcomes: NULL, or an array for @count pages; page i of the widened range gets
 * outcomes[i]; on an error some may be set. hmmErrorInvalidValue if @count is less than
 * the pages there are.
 */
HMM_API hmmError_t hmmMemPrefetchWithReport(const void* ptr, size_t bytes, hmmMemLocation location,
                                            hmmPageOutcome* outcomes, size_t count,
                                            hmmPrefetchReport* report);

/*
 * Forgets what is in @count ranges, each one in its turn, when the work queued before is
 * done: in whole pages inside each range, so that bytes beside it stay what they are.
 * What is read there afterwards, before it is written, is zeroes (of private memory; a
 * file's pages have what the file has). Nobody looks whether the rest of the range is
 * mapped. Locked memory, registered memory too, is not forgotten: hmmErrorInvalidValue at
 * the next synchronisation. If an argument is wrong nothing is queued. @flags must be 0.
 */
HMM_API hmmError_t hmmMemDiscardBatchAsync(void* const* ptrs, const size_t* sizes, size_t count,
                                           unsigned long long flags,
                                           hmmStream_t stream HMM_DEFAULT(nullptr));
/* Each range is discarded, then moved as by hmmMemPrefetchBatchAsync(): no data travels. */
HMM_API hmmError_t hmmMemDiscardAndPrefetchBatchAsync(void* const* ptrs, const size_t* sizes,
                                                      size_t count, const hmmMemLocation* locations,
                                                      const size_t* firsts, size_t locationCount,
                                                      unsigned long long flags,
                                                      hmmStream_t stream HMM_DEFAULT(nullptr));

typedef enum hmmMemoryAdvise {
    /* A device that reads gets a copy; who writes takes the copies away first. */
    hmmMemAdviseSetReadMostly = 1,
    hmmMemAdviseUnsetReadMostly = 2,
    /* Pages stay there while others can use them from there, and its faults bring them.
       Location: any. */
    hmmMemAdviseSetPreferredLocation = 3,
    hmmMemAdviseUnsetPreferredLocation = 4,
    /* The device has entries for what is populated, and soon again when they were taken
       away; what is populated later costs it one fault. Its faults move nothing, unless it
       is preferred too. Location: Device or Host, which changes nothing. */
    hmmMemAdviseSetAccessedBy = 5,
    hmmMemAdviseUnsetAccessedBy = 6,
    /* Nothing moves to a device, not by prefetches either. */
    hmmMemAdviseSetNoMigrate = 1000,
    hmmMemAdviseUnsetNoMigrate = 1001
} hmmMemoryAdvise;

/*
 * Advises the range, all of it or nothing, at once: device accesses from the next one on
 * follow. Advice is of addresses; it goes when they are unmapped or moved. @location is
 * looked at where the advice says so. hmmErrorInvalidValue for unknown advice.
 */
HMM_API hmmError_t hmmMemAdvise(const void* ptr, size_t bytes, hmmMemoryAdvise advice,
                                hmmMemLocation location);
/* The same, when the work queued before is done. */
HMM_API hmmError_t hmmMemAdviseAsync(const void* ptr, size_t bytes, hmmMemoryAdvise advice,
                                     hmmMemLocation location,
                                     hmmStream_t stream HMM_DEFAULT(nullptr));
/*
 * How many bytes one device fault moves, aligned to themselves, in the range: a power of
 * two from the page size to migrationBlockSize; 0: as if never said.
 */
HMM_API hmmError_t hmmMemSetGranularity(const void* ptr, size_t bytes, size_t granularity);

typedef enum hmmMemRangeAttribute {
    hmmMemRangeAttributeReadMostly = 1,        /* int: 1 if all pages are */
    hmmMemRangeAttributePreferredLocation = 2, /* int: device number or hmmCpuDeviceId */
    hmmMemRangeAttributeAccessedBy = 3, /* int[]: those whom all pages have, device numbers by size,
                                           then hmmCpuDeviceId; rest hmmInvalidDeviceId */
    hmmMemRangeAttributeLastPrefetchLocation = 4,  /* int: device number or hmmCpuDeviceId */
    hmmMemRangeAttributePreferredLocationType = 5, /* hmmMemLocationType, Invalid if they differ */
    hmmMemRangeAttributePreferredLocationId = 6,   /* int: device number or node */
    hmmMemRangeAttributeLastPrefetchLocationType = 7,
    hmmMemRangeAttributeLastPrefetchLocationId = 8
} hmmMemRangeAttribute;

/*
 * What the pages of the range were advised, and where they were asked to go last. Places
 * are hmmInvalidDeviceId if pages differ or there was none; a node of the host is
 * hmmCpuDeviceId, but for the attributes of type and id. @dataSize: 4, for AccessedBy a
 * multiple of 4 that is not 0; what does not fit is left out. hmmErrorInvalidValue for
 * another size or attribute.
 */
HMM_API hmmError_t hmmMemRangeGetAttribute(void* data, size_t dataSize,
                                           hmmMemRangeAttribute attribute, const void* ptr,
                                           size_t bytes);
/* @count attributes, as they were at one moment; if an argument is wrong, none. */
HMM_API hmmError_t hmmMemRangeGetAttributes(void* const* data, const size_t* dataSizes,
                                            const hmmMemRangeAttribute* attributes, size_t count,
                                            const void* ptr, size_t bytes);

typedef enum hmmMemoryType {
    hmmMemoryTypeUnregistered = 0, /* any memory, as good as any other */
    hmmMemoryTypeHost = 1,         /* of hmmHostRegister() */
    hmmMemoryTypeDevice = 2,       /* never */
    hmmMemoryTypeManaged = 3       /* of hmmMallocManaged() */
} hmmMemoryType;

typedef struct hmmPointerAttributes {
    hmmMemoryType type;
    int device; /* the current one when the memory was allocated or registered; of Unregistered
                   hmmInvalidDeviceId */
    void* devicePointer; /* the pointer itself, as any device may use it */
    void* hostPointer;   /* likewise */
    int location;        /* not in CUDA: where the page is now: device number, hmmCpuDeviceId, or
                            hmmInvalidDeviceId if nothing is there yet */
    int reserved[9];
} hmmPointerAttributes;

/*
 * What is known of an address. Success also where nothing is mapped: Unregistered, in no
 * place, and both pointers NULL.
 */
HMM_API hmmError_t hmmPointerGetAttributes(hmmPointerAttributes* attributes, const void* ptr);

/* What moved a page last. */
typedef enum hmmMoveCause {
    hmmMoveCauseNone = 0, /* it never moved, as far as this process knows */
    hmmMoveCauseDeviceFault,
    hmmMoveCauseCpuFault,
    hmmMoveCausePrefetch,
    hmmMoveCauseExclusive,
    hmmMoveCauseUnbind,       /* its device was reset */
    hmmMoveCauseEviction,     /* its place on the device was needed */
    hmmMoveCauseAccessCounter /* a device had used it often where it was */
} hmmMoveCause;

/* Of hmmPageState.flags. */
#define hmmPageDirty 0x1u  /* written since it was clean */
#define hmmPagePinned 0x2u /* held for I/O by somebody */
#define hmmPageLocked 0x4u /* mlock(), hmmHostRegister() */
#define hmmPageFile 0x8u   /* of a file or shared */
#define hmmPageHuge 0x10u  /* part of a huge page */
#define hmmPageMerged 0x20u
#define hmmPageZeroes 0x40u /* the zero page */
/* In masks: bit N is device number N, this is the CPU. */
#define hmmByCpu 0x80000000u

typedef struct hmmPageState {
    int location;          /* device number, hmmCpuDeviceId, or hmmInvalidDeviceId: nothing there */
    unsigned int flags;    /* hmmPage* */
    unsigned int mappedBy; /* mask: who can read it without a fault */
    unsigned int writtenBy; /* mask: of them, who can write it */
    unsigned int copies;    /* mask: devices that have a copy of their own */
    hmmMoveCause cause;     /* of the last move */
    uint64_t time;          /* of that: nanoseconds of CLOCK_MONOTONIC */
    uint64_t reserved[2];
} hmmPageState;

/*
 * Where pages are: states[i] is of page i of the widened range, at some moment during
 * the call; on an error some may be set. hmmErrorInvalidValue if @count is less than the
 * pages there are.
 */
HMM_API hmmError_t hmmMemGetResidency(const void* ptr, size_t bytes, hmmPageState* states,
                                      size_t count);

/*
 * Queues a copy, which the device of the stream makes: its accesses move pages as those
 * of kernels do, and an address that is not mapped is as fatal. One lane at a time works
 * on it; kernels of other streams have the rest. The ranges must not overlap.
 * hmmErrorInvalidMemcpyDirection for a @kind that is none. 0 bytes: nothing.
 */
HMM_API hmmError_t hmmMemcpyAsync(void* to, const void* from, size_t bytes, hmmMemcpyKind kind,
                                  hmmStream_t stream HMM_DEFAULT(nullptr));
/* The same in the default stream of the current device, and waits for it. */
HMM_API hmmError_t hmmMemcpy(void* to, const void* from, size_t bytes, hmmMemcpyKind kind);
/* Queues a fill with the low byte of @value, as a copy is made. */
HMM_API hmmError_t hmmMemsetAsync(void* to, int value, size_t bytes,
                                  hmmStream_t stream HMM_DEFAULT(nullptr));
HMM_API hmmError_t hmmMemset(void* to, int value, size_t bytes);

/*
 * Memory of its own mapping, full of zeroes: what malloc() gives is as good, but shares
 * its pages with others. On a multiple of the page size; from 2 MiB on, of 2 MiB, so
 * that it can be huge pages. @flags: hmmMemAttachGlobal or hmmMemAttachHost; they change nothing.
 */
HMM_API hmmError_t hmmMallocManaged(void** memory, size_t bytes, unsigned int flags);
/*
 * Gives memory of hmmMallocManaged(), hmmMalloc() and hmmMallocAsync() back when all work of all
 * devices is done; a sticky error is returned, and the memory is gone all the same. What queued
 * calls for memory failed with is left for a synchronisation with their device. NULL: nothing.
 * hmmErrorInvalidValue for other memory.
 */
HMM_API hmmError_t hmmFree(void* memory);

#define hmmHostRegisterDefault 0x0u
#define hmmHostRegisterPortable 0x1u /* always so */
#define hmmHostRegisterMapped 0x2u   /* always so */
#define hmmHostRegisterIoMemory 0x4u /* hmmErrorNotSupported */
#define hmmHostRegisterReadOnly 0x8u /* changes nothing */

/*
 * Locks the pages of the range in system memory (mlock()): devices use them from there,
 * and nothing moves them. What is on a device comes home, coherent memory too: that is a
 * prefetch to the host, for hmmMemRangeAttributeLastPrefetchLocation as well.
 * hmmErrorHostMemoryAlreadyRegistered if a byte is, or is being registered by another
 * thread just now; two registrations may share a page.
 * hmmErrorMemoryAllocation if RLIMIT_MEMLOCK does not allow it, hmmErrorNotPermitted if
 * that is 0; nothing has moved then. hmmErrorMemoryAllocation, too, if there is not enough
 * memory, or if part of the range cannot be touched: without permissions (PROT_NONE), or
 * behind the end of its file. What was on a device may have come home by then. The pages
 * are not to be munlock()ed or unmapped before hmmHostUnregister(). Pages that the program
 * had locked with MLOCK_ONFAULT are in memory from here on, and their lock remains one
 * without that flag.
 */
HMM_API hmmError_t hmmHostRegister(void* ptr, size_t bytes, unsigned int flags);
/*
 * Unlocks what no other registration shares, and what the program had not locked itself
 * before it was registered. A lock of its own that came later cannot be told apart and
 * goes too. @ptr is what was registered; else hmmErrorHostMemoryNotRegistered.
 */
HMM_API hmmError_t hmmHostUnregister(void* ptr);
/* The pointer itself, if it is into registered memory, else hmmErrorInvalidValue. @flags
 * must be 0. */
HMM_API hmmError_t hmmHostGetDevicePointer(void** device, void* host, unsigned int flags);
/* What the memory that @ptr is into was registered with, else hmmErrorInvalidValue. */
HMM_API hmmError_t hmmHostGetFlags(unsigned int* flags, void* ptr);

/* ---- knobs and quotas ------------------------------------------------- */

/*
 * Knobs are the numbers that policy goes by. What each one means is said in
 * <linux/hmmrt.h>: "prefetch_threshold" is HMMRT_KNOB_PREFETCH_THRESHOLD there.
 *
 * Where a knob is set. Of several that are, the nearest holds: the range, the process, the
 * device, and if it is set nowhere its default. A change holds for what is decided
 * afterwards; nothing moves because of it, and hmmDeviceReset() changes nothing about it.
 */
typedef enum hmmKnobScopeType {
    /* The current device, for all processes. Changes need CAP_SYS_ADMIN. */
    hmmKnobScopeTypeDevice = 1,
    hmmKnobScopeTypeProcess = 2, /* this process, on all devices */
    /* Part of its memory, on all devices; goes when it is unmapped or moved, as advice. */
    hmmKnobScopeTypeRange = 4
} hmmKnobScopeType;

typedef struct hmmKnobScope {
    hmmKnobScopeType type;
    const void* ptr; /* of a range, as all ranges of memory; else ignored */
    size_t bytes;    /* likewise */
} hmmKnobScope;

typedef struct hmmKnob {
    char name[48];
    unsigned int value; /* what holds */
    unsigned int minimum, maximum;
    unsigned int defaultValue;
    unsigned int scopes; /* mask of hmmKnobScopeType: where it can be set */
    unsigned int reserved[8];
} hmmKnob;

/* Values of "migration_policy": what a device's touch does. */
typedef enum hmmMigrationPolicy {
    hmmMigrateOnTouch = 0, /* it moves what it touches */
    hmmMigrateOnCount = 1, /* once it has touched it often enough */
    hmmMigrateNever = 2    /* it reaches it where it is */
} hmmMigrationPolicy;

/* Values of "fault_replay_policy": when a device goes on after faults. */
typedef enum hmmReplayPolicy {
    hmmReplayBlock = 0,      /* after each block that was served */
    hmmReplayBatch = 1,      /* after each batch */
    hmmReplayBatchFlush = 2, /* with what a batch has served by the way */
    hmmReplayOnce = 3        /* when no fault is left */
} hmmReplayPolicy;

/* How many knobs the current device has. */
HMM_API hmmError_t hmmKnobGetCount(int* count);
/* One of them, from 0 on, with what holds for the current device. */
HMM_API hmmError_t hmmKnobGetByIndex(hmmKnob* knob, int index);
/*
 * One by its name, with what holds in the scope for faults of the current device; of a
 * range, for its first page. hmmErrorInvalidValue for a name that no knob has, an unknown
 * type of scope, and one that is not among @scopes of the knob; so for the next two.
 */
HMM_API hmmError_t hmmKnobGet(hmmKnob* knob, const char* name, hmmKnobScope scope);
/*
 * hmmErrorInvalidValue for a value that is not from minimum to maximum;
 * hmmErrorNotPermitted for a change that needs CAP_SYS_ADMIN.
 */
HMM_API hmmError_t hmmKnobSet(const char* name, unsigned int value, hmmKnobScope scope);
/* As if it had never been set there. */
HMM_API hmmError_t hmmKnobReset(const char* name, hmmKnobScope scope);

#define hmmQuotaNoLimit SIZE_MAX
/* Higher is kept longer. */
#define hmmQuotaPriorityDefault 128u
#define hmmQuotaPriorityMax 255u

/* Who has a quota. */
typedef enum hmmQuotaScopeType {
    hmmQuotaScopeTypeProcess = 1, /* this process */
    hmmQuotaScopeTypeCgroup = 2   /* a cgroup of the second version, and all in it */
} hmmQuotaScopeType;

typedef struct hmmQuotaScope {
    hmmQuotaScopeType type;
    int cgroup; /* of a cgroup, a descriptor of its folder; else ignored */
} hmmQuotaScope;

typedef struct hmmQuota {
    size_t limit; /* bytes of device memory, or hmmQuotaNoLimit */
    unsigned int priority;
    size_t used;      /* bytes that are charged to it */
    size_t evicted;   /* bytes that went home because of the limit */
    uint64_t refused; /* times that memory was refused because of it */
    uint64_t reserved[4];
} hmmQuota;

/*
 * What a process or a cgroup may have of the current device, and has. For the process it
 * starts the device. hmmErrorInvalidValue for an unknown type of scope, and for a descriptor
 * that is not of the folder of a cgroup; hmmErrorNotSupported if the kernel has no cgroups.
 */
HMM_API hmmError_t hmmQuotaGet(hmmQuota* quota, hmmQuotaScope scope);
/*
 * @limit: a multiple of the page size, or hmmQuotaNoLimit. Who has reached it has something
 * of his own evicted; what then finds no room is used where it is, and a prefetch says
 * hmmStayQuota of it. What is in use beyond a new limit is evicted before the
 * call is back, as far as nothing holds it.
 * @priority: up to hmmQuotaPriorityMax. Of those who have more than their share of a device
 * that is full, the lowest priority loses memory first. A process has none higher than its
 * cgroups allow.
 *
 * Holds until the process ends or the cgroup is removed; hmmDeviceReset() changes nothing
 * about it. hmmErrorNotPermitted without CAP_SYS_ADMIN for a cgroup, and for a process
 * beyond what somebody with it has set last, or if nobody did, beyond
 * hmmQuotaPriorityDefault. A cgroup has no quota with hmmQuotaNoLimit and
 * hmmQuotaPriorityMax.
 */
HMM_API hmmError_t hmmQuotaSet(size_t limit, unsigned int priority, hmmQuotaScope scope);

/* ---- errors ----------------------------------------------------------- */

#define HMM_ACCESS_READ 0x1u
#define HMM_ACCESS_WRITE 0x2u
#define HMM_ACCESS_EXEC 0x4u

/* What a kernel did that ended its launch. */
typedef struct hmmFaultRecord {
    hmmError_t error; /* hmmSuccess: no fault so far */
    int device;       /* number; hmmInvalidDeviceId if no device failed */
    int lane;
    int signal;           /* the signal a CPU thread would have got: SIGSEGV, ... */
    int access;           /* HMM_ACCESS_* the instruction wanted, 0 if not a memory access */
    int error_number;     /* errno: EFAULT nothing mapped, EACCES no permission, ... */
    int system_call;      /* number of the refused call, -1 if that is not the cause */
    int padding;          /* 0 */
    uint64_t address;     /* of the access */
    uint64_t instruction; /* address of the instruction */
    uint64_t first_item;  /* the failing item is in the piece */
    uint64_t item_count;  /*   [first_item, first_item + item_count) */
    uint64_t reserved[4];
} hmmFaultRecord;

/* The calling thread's last error; resets it unless it is sticky, until the device that
 * failed is reset. */
HMM_API hmmError_t hmmGetLastError(void);
HMM_API hmmError_t hmmPeekAtLastError(void);
/* "hmmErrorIllegalAddress"; never NULL. */
HMM_API const char* hmmGetErrorName(hmmError_t error);
/* One sentence; never NULL. */
HMM_API const char* hmmGetErrorString(hmmError_t error);
/* The last failed call of this thread in words, valid until its next hmm call. */
HMM_API const char* hmmGetLastErrorDetail(void);
/*
 * What the last failed call of this thread found, if it was that a kernel had failed; else
 * @error of the record is hmmSuccess. The device need not be the current one, and may have
 * been reset since.
 */
HMM_API hmmError_t hmmGetLastErrorRecord(hmmFaultRecord* record);
/* The record behind the current device's sticky error. */
HMM_API hmmError_t hmmGetLastFault(hmmFaultRecord* record);

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && __cplusplus >= 201703L
#include "hmm_overloads.hpp"
#endif

#endif /* HMM_HMM_RUNTIME_H */
