/* SPDX-License-Identifier: MIT */
/*
 * hmmrt: the C interface, usable from C and C++.
 *
 * Names and semantics follow the CUDA runtime, with the prefix `hmm` in place
 * of `cuda`. A unified-memory program ports by search and replace. In C++,
 * hmm_overloads.hpp adds the overloads and default arguments that CUDA has. The
 * description of a function ends with its differences from CUDA's, if there are
 * any. CUDA language keywords (__global__, threadIdx, dim3) are in
 * hmm_language.hpp. f<<<grid, block>>>(x) must be written as hmmLaunchKernel().
 * The main difference: device code is native code of this program. Every
 * pointer that is valid on the CPU is valid in a kernel (heap, stack, globals,
 * mapped files), and so is every function pointer.
 *
 * Work is queued in streams and runs asynchronously. The work of one stream
 * runs in order; different streams run in parallel as far as lanes are
 * available. hmmDeviceSynchronize() waits for all of it. A kernel that fails
 * (illegal address, abort, ...) ends its launch, not the program. The device
 * then keeps the error until hmmDeviceReset(): the error is *sticky*, and all
 * streams of the device report it. Locks that the kernel held at that point,
 * including those of malloc(), stay locked.
 *
 * Errors: functions return an error code and record it for the calling thread
 * (hmmGetLastError). hmmGetLastErrorDetail() describes the error in words.
 *
 * Structs that the library fills end in @reserved, which the library sets to
 * zero. A later version may give a meaning to a part of @reserved, with zero as
 * the previous behaviour. Sizes and existing members do not change. In structs
 * that the program fills, @reserved must be zero, else functions return
 * hmmErrorInvalidValue. Structs that are passed by value do not change.
 *
 * Calls from a kernel return hmmErrorNotSupported. Calls from a host function
 * return hmmErrorNotPermitted. Calls in a fork()ed child of a process that used
 * a device return hmmErrorForkedProcess.
 *
 * Devices: if the hmmrt modules are not loaded, the program gets the *cpu
 * device*, which runs kernels on threads of the program, and a line on stderr
 * says so. HMMRT_DEVICE=cpu chooses it without the line. HMMRT_DEVICE=simulated
 * insists on a device of the modules (hmmErrorNoDevice). Of the cpu device,
 * HMMRT_DEVICES is the number, and HMMRT_DEVICE_MEMORY the size of each one's
 * memory, for example 256M. HMMRT_LANES is the number of lanes of any device,
 * and HMMRT_STACK_SIZE the size of the stack of each.
 * Memory of the cpu device is that of the program: no page moves, each page is
 * on the host, and a prefetch finds its pages there. Advice, last prefetches,
 * knobs, quotas and peer access are remembered and reported.
 *
 * No function is a cancellation point. A thread that is cancelled with
 * pthread_cancel() (deferred type) first returns from its current call.
 */
#ifndef HMM_HMM_RUNTIME_H
#define HMM_HMM_RUNTIME_H

#include "hmm_allocation.h"
#include "hmm_annotation.h"
#include "hmm_copy.h"
#include "hmm_policy.h"
#include "hmm_properties.h"
#include "hmm_queries.h"
#include "hmm_stats.h"
#include "hmm_types.h"
#include "hmm_virtual_memory.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices ---------------------------------------------------------- */

/*
 * The number of devices that are visible: CUDA_VISIBLE_DEVICES, or
 * HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES, list them and give them their
 * numbers. Read when the program first uses a device. hmmErrorNoDevice if there
 * is none, hmmErrorInvalidDevice if a list names one twice. Device numbers are
 * 0 to @count - 1.
 */
HMM_API hmmError_t hmmGetDeviceCount(int* count);
/*
 * Sets the current device of the calling thread; initially 0. Starts nothing.
 *
 * CUDA: initialises the device since version 12.
 */
HMM_API hmmError_t hmmSetDevice(int device);
/* Gets the current device of the calling thread. */
HMM_API hmmError_t hmmGetDevice(int* device);
/*
 * Free and total bytes of memory of the current device, for all processes
 * together. Each pointer may be NULL.
 */
HMM_API hmmError_t hmmMemGetInfo(size_t* free_bytes, size_t* total_bytes);
/*
 * Waits until all work queued on the current device is done, and returns its
 * error.
 */
HMM_API hmmError_t hmmDeviceSynchronize(void);
/*
 * Ends all work of the current device, migrates its pages back to system memory
 * and clears a sticky error. The call destroys the streams and events of the
 * device, except the default streams, and removes advice that names the device.
 * It waits for a host function that is running; host functions that have not
 * started are not called. Threads that are waiting for work of the device get
 * hmmErrorDeviceLost; later waits return at once. The next launch restarts the
 * device.
 *
 * CUDA: memory of the device becomes invalid, and only a new process clears a
 * sticky error.
 */
HMM_API hmmError_t hmmDeviceReset(void);

/*
 * Sets @canAccessPeer to 1 if @device can access memory of @peer without
 * migrating it, else to 0; 0 if both are the same device. Starts both devices.
 *
 * CUDA: starts nothing.
 */
HMM_API hmmError_t hmmDeviceCanAccessPeer(int* canAccessPeer, int device, int peer);
/*
 * Enables peer access: accesses of the current device to pages in memory of
 * @peer map these pages remotely instead of migrating them, if @peer is their
 * preferred location or no other policy migrates them. The setting applies to
 * this process and to this direction only, and ends when one of the two devices
 * is reset. @flags must be 0. hmmErrorInvalidDevice if @peer is the current
 * device; hmmErrorPeerAccessAlreadyEnabled; hmmErrorPeerAccessUnsupported.
 *
 * CUDA: without peer access the memory of a peer cannot be accessed; here it
 * migrates.
 */
HMM_API hmmError_t hmmDeviceEnablePeerAccess(int peer, unsigned int flags);
/* Disables peer access. hmmErrorPeerAccessNotEnabled if it is not enabled. */
HMM_API hmmError_t hmmDeviceDisablePeerAccess(int peer);

/* ---- kernels ---------------------------------------------------------- */

typedef struct hmmThreadIndex {
    hmmDim3 threadIdx, blockIdx, blockDim, gridDim;
} hmmThreadIndex;

/*
 * A kernel, called once for each thread of the grid. `args` points to the copy
 * of the arguments that hmmLaunchFunction() made.
 *
 *     struct scale_args { float *data; float factor; };
 *     static void scale(const hmmThreadIndex *index, void *args)
 *     {
 *         struct scale_args *a = args;
 *         size_t block = (size_t)index->blockIdx.x * index->blockDim.x;
 *         a->data[block + index->threadIdx.x] *= a->factor;
 *     }
 *     ...
 *     struct scale_args a = {data, 2.0f};
 *     hmmDim3 grid = {n / 256, 1, 1}, block = {256, 1, 1};
 *     hmmLaunchFunction(scale, grid, block, &a, sizeof(a), 0, 0);
 */
typedef void (*hmmKernel_t)(const hmmThreadIndex* index, void* args);

/*
 * Queues kernel(index, args) for all threads of all blocks. The call copies
 * @argsBytes bytes at @args; with @argsBytes 0 the kernel gets the pointer
 * @args itself. Threads of a block have no barrier and no shared memory:
 * hmmErrorNotSupported if @sharedMem is not 0. hmmErrorInvalidDeviceFunction if
 * @kernel is NULL; hmmErrorInvalidConfiguration if a dimension is 0 or the grid
 * has 2^64 or more threads; hmmErrorInvalidValue for arguments that exceed the
 * address space; hmmErrorInvalidResourceHandle for a stream of another device.
 *
 * The counterpart of CUDA's cudaLaunchKernel(), which takes a function with any
 * parameters and an array of pointers to its arguments, needs the parameter
 * types. It exists in C++ only: see hmmLaunchKernel() in hmm_overloads.hpp.
 */
HMM_API hmmError_t hmmLaunchFunction(hmmKernel_t kernel, hmmDim3 gridDim, hmmDim3 blockDim,
                                     const void* args, size_t argsBytes, size_t sharedMem,
                                     hmmStream_t stream);

/* Runs the items [begin, end) of a range launch. */
typedef void (*hmmRangeFunction_t)(void* closure, uint64_t begin, uint64_t end);
/*
 * Destroys a closure. It is called on the CPU after the launch, by a thread
 * that is inside an hmm call.
 */
typedef void (*hmmDestroyFunction_t)(void* closure);

/*
 * Queues fn over [0, count); all lanes run pieces of the range. If @destroy is
 * not NULL, it is called once with @closure when the launch has ended. If the
 * call itself fails, the caller still owns the closure. @stream must belong to
 * the current device. Not in CUDA.
 */
HMM_API hmmError_t hmmLaunchRange(hmmRangeFunction_t fn, void* closure, uint64_t count,
                                  hmmDestroyFunction_t destroy, hmmStream_t stream);

/*
 * Allocates memory for a closure, aligned to 64 bytes; returns NULL if there is
 * not enough memory. Small closures are in memory that the CPU and the devices
 * both access without migration. A closure on the heap would migrate at each
 * launch. Not in CUDA.
 */
HMM_API void* hmmClosureAllocate(size_t bytes);
/* Frees memory of hmmClosureAllocate(). NULL is ignored. Not in CUDA. */
HMM_API void hmmClosureFree(void* closure);

/*
 * Queues a wrapper of a kernel, as hmmLaunchKernel() has one: the same as
 * hmmLaunchFunction(wrapper, ...), but messages name @kernel, the function that
 * the wrapper calls. With @kernel NULL they name the wrapper. Not in CUDA.
 */
HMM_API hmmError_t hmmLaunchWrapper(hmmKernel_t wrapper, const void* kernel, hmmDim3 gridDim,
                                    hmmDim3 blockDim, const void* args, size_t argsBytes,
                                    size_t sharedMem, hmmStream_t stream);

/*
 * Registers a variable that the program declares as one of device code; for
 * compilers. hmmPointerGetAttributes() reports it as hmmMemoryTypeManaged if
 * @managed is not 0, else as hmmMemoryTypeDevice, and a copy does not take it
 * for pageable memory (hmmMemcpyAsync). It must stay mapped for as long as the
 * program runs. Starts nothing. hmmErrorInvalidValue for NULL and for 0 bytes.
 * Not in CUDA.
 */
HMM_API hmmError_t hmmRegisterVariable(const void* variable, size_t bytes, int managed);

/*
 * Ends the launch with hmmErrorAssert and an exception; for wrappers of kernels
 * in C++, as hmm::launch() and hmmLaunchKernel() have them. The program gets the
 * exception with the error (hmmGetLastErrorException). @exception points to a
 * std::exception_ptr. To be called by a kernel; it does not return. Elsewhere
 * it calls std::terminate(). Not in CUDA.
 */
HMM_API void hmmEndLaunchByException(void* exception);

/*
 * Enables or disables strict mode, in which a kernel that makes a system call
 * fails with hmmErrorSystemCall, as on a real GPU. Off by default. On by
 * default if HMMRT_STRICT=1 is set or the program runs under seccomp. The cpu
 * device makes all system calls in either mode. @strict: 0 disables it, other
 * values enable it.
 *
 * CUDA: no such function; kernels can never make system calls.
 */
HMM_API hmmError_t hmmSetStrict(int strict);

/* ---- streams ---------------------------------------------------------- */

/*
 * Work in one stream runs in the order in which it was queued. Work in
 * different streams runs in parallel.
 *
 * The legacy default stream (0, hmmStreamLegacy) is an exception: its work
 * waits for all work that was queued before in blocking streams of the device,
 * and work that is queued later in blocking streams waits for it. Non-blocking
 * streams are independent of it. hmmStreamPerThread is a blocking stream, one
 * for each thread.
 *
 * A device has 16 queues for its streams: the legacy stream has one, blocking
 * streams share 6 (2 of high priority), and non-blocking streams share 5 (2 of
 * high priority). Work in streams that share a queue also waits for earlier
 * work of the other streams in the queue. A queue holds up to 256 pieces of
 * work; a call that would exceed this waits until the queue has space.
 */
#define hmmStreamLegacy ((hmmStream_t)0x1)
#define hmmStreamPerThread ((hmmStream_t)0x2)

#define hmmStreamDefault 0x0u
#define hmmStreamNonBlocking 0x1u

/* Creates a stream of the current device. Starts the device. */
HMM_API hmmError_t hmmStreamCreate(hmmStream_t* stream);
/* As hmmStreamCreate(). @flags: hmmStreamNonBlocking or 0. */
HMM_API hmmError_t hmmStreamCreateWithFlags(hmmStream_t* stream, unsigned int flags);
/*
 * Creates a stream with a priority. Lanes first take work of higher priority (a
 * lower number); running work is not interrupted. A priority outside the range
 * is clamped.
 */
HMM_API hmmError_t hmmStreamCreateWithPriority(hmmStream_t* stream, unsigned int flags,
                                               int priority);
/*
 * Gets the range of priorities: 0 (least) and -1 (greatest). Either pointer may
 * be NULL.
 *
 * CUDA: has more levels.
 */
HMM_API hmmError_t hmmDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority);
/* Gets the flags with which the stream was created. */
HMM_API hmmError_t hmmStreamGetFlags(hmmStream_t stream, unsigned int* flags);
/* Gets the priority of the stream, after clamping. */
HMM_API hmmError_t hmmStreamGetPriority(hmmStream_t stream, int* priority);
/* Gets the number of the stream's device. */
HMM_API hmmError_t hmmStreamGetDevice(hmmStream_t stream, int* device);
/* Destroys a stream without waiting. Work that is queued in it still runs. */
HMM_API hmmError_t hmmStreamDestroy(hmmStream_t stream);
/*
 * Waits until all work of the stream is done; for the legacy default stream,
 * also until the work that it waits for is done. After a sticky error, no host
 * function of the stream is running when this call returns. Closures of host
 * functions are destroyed at that point, or, if the device is lost, when it is
 * reset. Returns the error of the device.
 */
HMM_API hmmError_t hmmStreamSynchronize(hmmStream_t stream);
/* Checks if all work of the stream is done: hmmErrorNotReady if not. */
HMM_API hmmError_t hmmStreamQuery(hmmStream_t stream);
/*
 * Work that is queued in @stream after this call waits for the last recorded
 * position of the event, which may be on another device. If the event was never
 * recorded, there is nothing to wait for. In the legacy default stream the wait
 * counts as work of that stream, even if the event has already completed. If a
 * device fails or is reset, waits for its events end. @flags must be 0.
 */
HMM_API hmmError_t hmmStreamWaitEvent(hmmStream_t stream, hmmEvent_t event,
                                      unsigned int flags HMM_DEFAULT(0));

typedef void (*hmmHostFn_t)(void* userData);

/*
 * Queues fn(userData). A thread of the library calls it on the CPU; the thread
 * blocks all signals except those that its own instructions raise. The function
 * must return, because later work of the stream waits for it. It must not call
 * the library and must not wait for work of a device. It is not called if the
 * device has failed.
 *
 * CUDA: calls of the library by @fn are undefined; here they return
 * hmmErrorNotPermitted.
 */
HMM_API hmmError_t hmmLaunchHostFunc(hmmStream_t stream, hmmHostFn_t fn, void* userData);

/*
 * As hmmLaunchHostFunc(), and calls destroy(closure) once, when @fn has
 * returned or will not be called. @destroy must not call the library either. If
 * this call itself fails, the caller still owns the closure. Not in CUDA.
 */
HMM_API hmmError_t hmmLaunchHostClosure(hmmHostFn_t fn, void* closure, hmmDestroyFunction_t destroy,
                                        hmmStream_t stream);

/*
 * Queues callback(stream, status, userData). It is called exactly once, as a
 * host function is, but also if the device fails or is reset before: @status is
 * then the sticky error or hmmErrorDeviceLost. @flags must be 0.
 */
typedef void (*hmmStreamCallback_t)(hmmStream_t stream, hmmError_t status, void* userData);
HMM_API hmmError_t hmmStreamAddCallback(hmmStream_t stream, hmmStreamCallback_t callback,
                                        void* userData, unsigned int flags);

/* ---- events ----------------------------------------------------------- */

/* All waits sleep, so hmmEventBlockingSync has no effect. */
#define hmmEventDefault 0x0u
#define hmmEventBlockingSync 0x1u
#define hmmEventDisableTiming 0x2u

/* Creates an event of the current device. */
HMM_API hmmError_t hmmEventCreate(hmmEvent_t* event);
/*
 * As hmmEventCreate(). @flags may contain hmmEventBlockingSync and
 * hmmEventDisableTiming.
 *
 * CUDA: has interprocess events.
 */
HMM_API hmmError_t hmmEventCreateWithFlags(hmmEvent_t* event, unsigned int flags);
/*
 * Records the event after all work queued in @stream. The call replaces the
 * previous recording. hmmErrorInvalidResourceHandle for a stream of another
 * device.
 */
HMM_API hmmError_t hmmEventRecord(hmmEvent_t event, hmmStream_t stream HMM_DEFAULT(nullptr));
/*
 * Checks if all work before the recorded position is done: hmmErrorNotReady if
 * not. Success if the event was never recorded.
 */
HMM_API hmmError_t hmmEventQuery(hmmEvent_t event);
/*
 * Waits until all work before the recorded position is done. Returns errors as
 * a synchronisation with the event's device does.
 */
HMM_API hmmError_t hmmEventSynchronize(hmmEvent_t event);
/*
 * Milliseconds between two events, each measured when the device reached the
 * event. hmmErrorInvalidResourceHandle if an event has no timing or was never
 * recorded. hmmErrorNotReady if an event has not completed.
 */
HMM_API hmmError_t hmmEventElapsedTime(float* ms, hmmEvent_t start, hmmEvent_t end);
/*
 * Destroys an event without waiting. Existing waits still wait for the recorded
 * position.
 */
HMM_API hmmError_t hmmEventDestroy(hmmEvent_t event);

/* ---- memory ----------------------------------------------------------- */

/*
 * A range is [ptr, ptr + bytes). It may be any memory of the program, and is
 * widened to whole pages unless stated otherwise. All functions below that take
 * a range return hmmErrorInvalidValue for 0 bytes, for a range that exceeds the
 * address space, and for a range that is not fully mapped. Queued work checks
 * mappings only when it runs. An error found there is reported once, by the
 * next synchronisation with the device, one of its streams or one of its
 * events. It is not sticky. If several occur, the first one is reported.
 *
 * A function that takes a device as a location starts that device;
 * hmmErrorInvalidDevice if no device has this number. hmmErrorInvalidValue for
 * an unknown location type and for a NUMA node that the host does not have;
 * queued work reports a missing node as it reports missing mappings.
 */

/*
 * Migrates the pages of the range to @location when the work queued before is
 * done. Best effort: pages that cannot move (file-backed, shared or pinned)
 * stay, and devices can still access them. @flags must be 0.
 *
 * CUDA: pages that cannot move are an error.
 */
HMM_API hmmError_t hmmMemPrefetchAsync(const void* ptr, size_t bytes, hmmMemLocation location,
                                       unsigned int flags, hmmStream_t stream HMM_DEFAULT(nullptr));

/*
 * Migrates @count ranges one after the other, each as hmmMemPrefetchAsync()
 * does. @ptrs and @sizes have @count elements, @locations and @firsts have
 * @locationCount. Ranges firsts[i] to firsts[i + 1] - 1 go to locations[i]; the
 * ranges from the last element of @firsts on go to the last location. firsts[0]
 * must be 0, and @firsts must be strictly increasing, else
 * hmmErrorInvalidValue. If an argument is invalid, nothing is queued. @flags
 * must be 0.
 *
 * CUDA: ranges of a batch are not ordered.
 */
HMM_API hmmError_t hmmMemPrefetchBatchAsync(void* const* ptrs, const size_t* sizes, size_t count,
                                            const hmmMemLocation* locations, const size_t* firsts,
                                            size_t locationCount, unsigned long long flags,
                                            hmmStream_t stream HMM_DEFAULT(nullptr));

/* Reason why a page did not move. */
typedef enum hmmStay {
    hmmStayBusy = 0, /* raced with an access or with the kernel */
    hmmStayNoMemory, /* the destination is full */
    hmmStayPinned,   /* pinned for I/O, or locked: mlock(), hmmHostRegister() */
    hmmStayFile,     /* file-backed or shared memory */
    hmmStayHugetlb,
    hmmStayMerged,  /* merged by KSM */
    hmmStaySpecial, /* device mapping, no read permission, or secretmem */
    hmmStayPolicy,  /* hmmMemAdviseSetNoMigrate */
    hmmStayWatched, /* registered with userfaultfd and not yet populated */
    hmmStayQuota,   /* the quota of the process or its cgroup is exhausted */
    hmmStayReasons = 12
} hmmStay;

/*
 * Result for one page: hmmOutcomeMoved, hmmOutcomeThere, or hmmOutcomeStayed()
 * of an hmmStay.
 */
typedef uint8_t hmmPageOutcome;
#define hmmOutcomeMoved ((hmmPageOutcome)0)
#define hmmOutcomeThere ((hmmPageOutcome)1)
#define hmmOutcomeStayed(stay) ((hmmPageOutcome)(2 + (stay)))

/* Result for all pages of a prefetch. */
typedef struct hmmPrefetchReport {
    size_t moved; /* pages */
    /* pages that already were at the location or had a duplicate there */
    size_t there;
    size_t stayed[hmmStayReasons]; /* pages, by hmmStay */
    size_t reserved[4];
} hmmPrefetchReport;

/*
 * Migrates the pages of the range synchronously, without waiting for any
 * stream, and reports the result. Queued prefetches have no report;
 * hmmMemGetResidency() tells where the pages are. @report: set on success; may
 * be NULL. @outcomes: NULL or an array of @count elements; outcomes[i] is the
 * result for page i of the widened range. On an error some elements may be set.
 * hmmErrorInvalidValue if @count is less than the number of pages. Not in CUDA.
 */
HMM_API hmmError_t hmmMemPrefetchWithReport(const void* ptr, size_t bytes, hmmMemLocation location,
                                            hmmPageOutcome* outcomes, size_t count,
                                            hmmPrefetchReport* report);

/*
 * Discards the content of @count ranges one after the other, when the work
 * queued before is done. Only whole pages inside each range are discarded, so
 * adjacent bytes keep their content. Until it is written again, discarded
 * private memory reads as zeroes; pages of a file read as the file's content.
 * The call does not check that the rest of a range is mapped. Locked memory,
 * including registered memory, is not discarded: the next synchronisation
 * returns hmmErrorInvalidValue. If an argument is invalid, nothing is queued.
 * @flags must be 0.
 *
 * CUDA: takes managed memory only, and reads after a discard are undefined.
 */
HMM_API hmmError_t hmmMemDiscardBatchAsync(void* const* ptrs, const size_t* sizes, size_t count,
                                           unsigned long long flags,
                                           hmmStream_t stream HMM_DEFAULT(nullptr));
/*
 * Discards each range and then migrates it as hmmMemPrefetchBatchAsync() does.
 * No data is copied.
 *
 * CUDA: differs as for hmmMemPrefetchBatchAsync() and
 * hmmMemDiscardBatchAsync().
 */
HMM_API hmmError_t hmmMemDiscardAndPrefetchBatchAsync(void* const* ptrs, const size_t* sizes,
                                                      size_t count, const hmmMemLocation* locations,
                                                      const size_t* firsts, size_t locationCount,
                                                      unsigned long long flags,
                                                      hmmStream_t stream HMM_DEFAULT(nullptr));

typedef enum hmmMemoryAdvise {
    /*
     * A device that reads a page gets a duplicate of it. A write first removes
     * the duplicates.
     */
    hmmMemAdviseSetReadMostly = 1,
    hmmMemAdviseUnsetReadMostly = 2,
    /*
     * Pages stay at the location while other processors can access them there.
     * Faults of the location migrate pages to it. Location: any.
     */
    hmmMemAdviseSetPreferredLocation = 3,
    hmmMemAdviseUnsetPreferredLocation = 4,
    /*
     * The device keeps page table entries for populated pages, and they are
     * restored soon after they were removed. A page that is populated later
     * costs the device one fault. Faults of the device migrate nothing, unless
     * it is also the preferred location. Location: Device, or Host, which has
     * no effect.
     */
    hmmMemAdviseSetAccessedBy = 5,
    hmmMemAdviseUnsetAccessedBy = 6,
    /* Pages never migrate to a device, not even by a prefetch. */
    hmmMemAdviseSetNoMigrate = 1000,
    hmmMemAdviseUnsetNoMigrate = 1001
} hmmMemoryAdvise;

/*
 * Applies advice to the whole range, or to nothing if the call fails. The
 * advice takes effect with the next device access. It belongs to the addresses
 * and is dropped when they are unmapped or moved. @location is ignored unless
 * the description of the advice names it. hmmErrorInvalidValue for unknown
 * advice. Also hmmErrorInvalidValue for AccessedBy with a NUMA node.
 *
 * CUDA: has no NoMigrate.
 */
HMM_API hmmError_t hmmMemAdvise(const void* ptr, size_t bytes, hmmMemoryAdvise advice,
                                hmmMemLocation location);
/* As hmmMemAdvise(), when the work queued before is done. Not in CUDA. */
HMM_API hmmError_t hmmMemAdviseAsync(const void* ptr, size_t bytes, hmmMemoryAdvise advice,
                                     hmmMemLocation location,
                                     hmmStream_t stream HMM_DEFAULT(nullptr));
/*
 * Sets how many bytes one device fault in the range migrates. The migrated unit
 * is aligned to its size. @granularity: a power of two from the page size to
 * migrationBlockSize, or 0 to remove the setting; otherwise
 * hmmErrorInvalidValue. Not in CUDA.
 */
HMM_API hmmError_t hmmMemSetGranularity(const void* ptr, size_t bytes, size_t granularity);

typedef enum hmmMemRangeAttribute {
    hmmMemRangeAttributeReadMostly = 1, /* int: 1 if set for all pages */
    /* int: device number or hmmCpuDeviceId */
    hmmMemRangeAttributePreferredLocation = 2,
    /*
     * int[]: the processors that are set for all pages: device numbers in
     * ascending order, then hmmCpuDeviceId; the remaining elements are
     * hmmInvalidDeviceId
     */
    hmmMemRangeAttributeAccessedBy = 3,
    /*
     * int: device number or hmmCpuDeviceId, of the prefetch that was requested
     * last, also if it is still queued
     */
    hmmMemRangeAttributeLastPrefetchLocation = 4,
    /* hmmMemLocationType; Invalid if pages differ */
    hmmMemRangeAttributePreferredLocationType = 5,
    /* int: device number or NUMA node */
    hmmMemRangeAttributePreferredLocationId = 6,
    hmmMemRangeAttributeLastPrefetchLocationType = 7,
    hmmMemRangeAttributeLastPrefetchLocationId = 8
} hmmMemRangeAttribute;

/*
 * Gets the advice of a range, or the last location that it was prefetched to. A
 * location is hmmInvalidDeviceId if pages differ or have none. A NUMA node of
 * the host is reported as hmmCpuDeviceId, except by the Type and Id attributes.
 * @dataSize: 4; for AccessedBy a nonzero multiple of 4, and what does not fit
 * is left out. hmmErrorInvalidValue for another size or attribute.
 *
 * CUDA: PreferredLocation does not return the CPU for a NUMA node of the host.
 */
HMM_API hmmError_t hmmMemRangeGetAttribute(void* data, size_t dataSize,
                                           hmmMemRangeAttribute attribute, const void* ptr,
                                           size_t bytes);
/*
 * Gets a consistent snapshot of @count attributes; the three arrays have @count
 * elements, and @count must not be 0. If an argument is invalid, nothing is
 * written.
 */
HMM_API hmmError_t hmmMemRangeGetAttributes(void* const* data, const size_t* dataSizes,
                                            const hmmMemRangeAttribute* attributes, size_t count,
                                            const void* ptr, size_t bytes);

typedef enum hmmMemoryType {
    /* any other memory; devices can access it too */
    hmmMemoryTypeUnregistered = 0,
    /* hmmHostRegister(), hmmHostAlloc(), a memory object on the host */
    hmmMemoryTypeHost = 1,
    /*
     * hmmMalloc(), hmmMallocAsync(), a memory object on a device, a variable of
     * device code
     */
    hmmMemoryTypeDevice = 2,
    /*
     * hmmMallocManaged(), a migratable memory object, a managed variable of
     * device code
     */
    hmmMemoryTypeManaged = 3
} hmmMemoryType;

typedef struct hmmPointerAttributes {
    hmmMemoryType type;
    /*
     * the current device when the memory was allocated or registered, or the
     * device of a memory object; of a variable the current device, and 0 if it
     * is managed; hmmInvalidDeviceId for Unregistered
     */
    int device;
    /*
     * the pointer itself; valid on every device. NULL for a memory object that
     * the current device has no access to
     */
    void* devicePointer;
    /* the pointer itself; NULL for a memory object without access by the CPU */
    void* hostPointer;
    /*
     * not in CUDA: current location of the page: device number, hmmCpuDeviceId,
     * or hmmInvalidDeviceId if not populated
     */
    int location;
    int reserved[9];
} hmmPointerAttributes;

/*
 * Gets the attributes of an address. Also succeeds for an unmapped address: its
 * type is Unregistered, its location hmmInvalidDeviceId, and both pointers are
 * NULL.
 *
 * CUDA: has no @location, and its pointers are NULL for Unregistered memory;
 * here they are the pointer itself.
 */
HMM_API hmmError_t hmmPointerGetAttributes(hmmPointerAttributes* attributes, const void* ptr);

/* Cause of the last migration of a page. */
typedef enum hmmMoveCause {
    hmmMoveCauseNone = 0, /* no migration known to this process */
    hmmMoveCauseDeviceFault,
    hmmMoveCauseCpuFault,
    hmmMoveCausePrefetch,
    hmmMoveCauseExclusive,
    hmmMoveCauseUnbind,   /* the device was reset */
    hmmMoveCauseEviction, /* the device needed the memory */
    /* a device had accessed it remotely often enough */
    hmmMoveCauseAccessCounter
} hmmMoveCause;

/* Flags of hmmPageState.flags. */
#define hmmPageDirty 0x1u  /* dirty */
#define hmmPagePinned 0x2u /* pinned for I/O */
#define hmmPageLocked 0x4u /* mlock(), hmmHostRegister() */
#define hmmPageFile 0x8u   /* file-backed or shared */
#define hmmPageHuge 0x10u  /* part of a huge page */
#define hmmPageMerged 0x20u
#define hmmPageZeroes 0x40u /* mapped to the zero page */
/* In masks, bit N is device number N, and hmmByCpu is the CPU. */
#define hmmByCpu 0x80000000u

typedef struct hmmPageState {
    /* device number, hmmCpuDeviceId, or hmmInvalidDeviceId if not populated */
    int location;
    unsigned int flags; /* hmmPage* */
    /* mask: processors that can read the page without a fault */
    unsigned int mappedBy;
    unsigned int writtenBy;  /* mask: those of them that can also write it */
    unsigned int duplicates; /* mask: devices that have a duplicate */
    hmmMoveCause cause;      /* of the last migration */
    /* time of the last migration: CLOCK_MONOTONIC, in nanoseconds */
    uint64_t time;
    uint64_t reserved[2];
} hmmPageState;

/*
 * Gets the state of each page: states[i] describes page i of the widened range
 * at some moment during the call. On an error some elements may be set.
 * hmmErrorInvalidValue if @count is less than the number of pages. Not in CUDA.
 */
HMM_API hmmError_t hmmMemGetResidency(const void* ptr, size_t bytes, hmmPageState* states,
                                      size_t count);

/*
 * Queues a copy, which the device of the stream executes. Its accesses migrate
 * pages as those of kernels do, and an unmapped address is a sticky error in
 * the same way. One lane at a time works on a copy; the other lanes stay
 * available to other streams. The ranges must not overlap.
 * hmmErrorInvalidMemcpyDirection for an unknown @kind; hmmErrorInvalidValue for
 * NULL or a range that exceeds the address space. A copy of 0 bytes has no
 * effect.
 *
 * Pageable memory is all memory except that of the allocating functions of this
 * library, registered memory, memory objects and variables of device code
 * (hmmRegisterVariable). @kind says which side is the host; with
 * hmmMemcpyDefault, pageable and pinned memory are the host's.
 * - to pageable memory of the host, and from host to host: the copy is complete
 *   when the call returns, and the call returns the error of a device that has
 *   failed until then
 * - from pageable memory, hmmMemcpyHostToDevice: the source has been taken when
 *   the call returns, so that the program may change it. Work of the stream that
 *   writes the source must be complete before the call. A copy of more than
 *   4 MiB, or after 32 MiB of others that are not complete, is waited for.
 * - from pageable memory, hmmMemcpyDefault: the copy is complete at return
 * - else the call does not wait, and the stream orders the accesses to both
 *   sides; hmmMemcpyDeviceToDevice says so of any memory
 *
 * CUDA: refuses a kind that the memory does not have.
 */
HMM_API hmmError_t hmmMemcpyAsync(void* to, const void* from, size_t bytes, hmmMemcpyKind kind,
                                  hmmStream_t stream HMM_DEFAULT(nullptr));
/*
 * Copies in the default stream of the current device and waits for it.
 *
 * CUDA: refuses a kind that the memory does not have.
 */
HMM_API hmmError_t hmmMemcpy(void* to, const void* from, size_t bytes, hmmMemcpyKind kind);
/* Queues a fill with the low byte of @value; otherwise as hmmMemcpyAsync(). */
HMM_API hmmError_t hmmMemsetAsync(void* to, int value, size_t bytes,
                                  hmmStream_t stream HMM_DEFAULT(nullptr));
/*
 * As hmmMemsetAsync(), and waits.
 *
 * CUDA: does not always wait.
 */
HMM_API hmmError_t hmmMemset(void* to, int value, size_t bytes);

/*
 * Allocates zero-filled memory. Devices can use memory of malloc() in the same
 * way, but its pages may also hold other objects. More than 2 KiB are whole
 * pages, aligned to the page size; from 2 MiB on they are aligned to 2 MiB, so
 * that they can use huge pages. Less is aligned to 256 bytes, and may share a
 * page with other allocations of the same function, which have the same advice
 * and are in the same place then. @flags: hmmMemAttachGlobal or
 * hmmMemAttachHost; they have no effect. hmmErrorInvalidValue for 0 bytes;
 * hmmErrorMemoryAllocation if there is not enough memory.
 *
 * CUDA: the flags decide who may use the memory.
 */
HMM_API hmmError_t hmmMallocManaged(void** memory, size_t bytes, unsigned int flags);
/*
 * Frees memory of hmmMallocManaged(), hmmMalloc() and hmmMallocAsync() after
 * all work of all devices is done. If a device has a sticky error, the call
 * returns it and still frees the memory. Errors of queued memory calls
 * (prefetch, advice, discard) are not returned here but by the next
 * synchronisation with their device. NULL is ignored. hmmErrorInvalidValue for
 * other memory.
 */
HMM_API hmmError_t hmmFree(void* memory);

#define hmmHostRegisterDefault 0x0u
#define hmmHostRegisterPortable 0x1u /* no effect: always portable */
#define hmmHostRegisterMapped 0x2u   /* no effect: always mapped */
#define hmmHostRegisterIoMemory 0x4u /* hmmErrorNotSupported */
#define hmmHostRegisterReadOnly 0x8u /* no effect */

/*
 * Locks the pages of the range in system memory (mlock()). Devices access them
 * there, and nothing migrates them. Pages in device memory, including coherent
 * device memory, first migrate back. This counts as a prefetch to the host,
 * also for hmmMemRangeAttributeLastPrefetchLocation.
 *
 * hmmErrorHostMemoryAlreadyRegistered if a byte of the range is registered or
 * is being registered by another thread; two registrations may share a page.
 * hmmErrorInvalidValue for memory that the library has allocated;
 * hmmErrorNotSupported for hmmHostRegisterIoMemory. hmmErrorMemoryAllocation if
 * RLIMIT_MEMLOCK does not allow it, and hmmErrorNotPermitted if RLIMIT_MEMLOCK
 * is 0; nothing has migrated then. On the cpu device, where nothing migrates,
 * the limit is no error. hmmErrorMemoryAllocation also if there is not enough
 * memory, or if a part of the range cannot be accessed: it has no permissions
 * (PROT_NONE) or lies beyond the end of its file. Pages may have migrated back
 * by then.
 *
 * The program must not munlock() or unmap the pages before hmmHostUnregister().
 * Pages that the program had locked with MLOCK_ONFAULT are populated by this
 * call, and remain locked without that flag.
 *
 * CUDA: no memory limit applies, and kernels may be unable to access
 * unregistered memory.
 */
HMM_API hmmError_t hmmHostRegister(void* ptr, size_t bytes, unsigned int flags);
/*
 * Ends the registration that starts at @ptr. Unlocks its pages, except those
 * that another registration shares and those that the program had locked before
 * it registered them. A lock that the program took after registration cannot be
 * distinguished and is removed too. hmmErrorHostMemoryNotRegistered if @ptr is
 * not in registered memory; hmmErrorInvalidValue if it is not its start, and for
 * memory that the library has allocated.
 */
HMM_API hmmError_t hmmHostUnregister(void* ptr);
/*
 * Returns @host itself if it points into registered memory, else
 * hmmErrorInvalidValue. @flags must be 0.
 *
 * CUDA: may return another address.
 */
HMM_API hmmError_t hmmHostGetDevicePointer(void** device, void* host, unsigned int flags);
/*
 * Gets the flags with which the memory at @ptr was registered, and always
 * hmmHostRegisterMapped; hmmErrorInvalidValue if it is not registered.
 */
HMM_API hmmError_t hmmHostGetFlags(unsigned int* flags, void* ptr);

/* ---- errors ----------------------------------------------------------- */

#define HMM_ACCESS_READ 0x1u
#define HMM_ACCESS_WRITE 0x2u
#define HMM_ACCESS_EXEC 0x4u

/* Describes the fault that ended a launch. */
typedef struct hmmFaultRecord {
    hmmError_t error; /* hmmSuccess: no fault */
    /* device number; hmmInvalidDeviceId if no device failed */
    int device;
    int lane;
    /* the signal that a CPU thread would receive: SIGSEGV, ... */
    int signal;
    /* HMM_ACCESS_* of the access, 0 if not a memory access */
    int access;
    /* errno: EFAULT not mapped, EACCES no permission, ... */
    int error_number;
    /* number of the refused system call, -1 if that is not the cause */
    int system_call;
    int padding;          /* 0 */
    uint64_t address;     /* address of the access */
    uint64_t instruction; /* address of the instruction */
    uint64_t first_item;  /* the failed item is in */
    uint64_t item_count;  /* [first_item, first_item + item_count) */
    uint64_t thread;      /* what pthread_self() returned in the kernel */
    uint64_t reserved[3];
} hmmFaultRecord;

/*
 * Returns the calling thread's last error and clears it. A sticky error stays
 * until the failed device is reset.
 */
HMM_API hmmError_t hmmGetLastError(void);
/* As hmmGetLastError(), but does not clear the error. */
HMM_API hmmError_t hmmPeekAtLastError(void);
/* Name of an error, such as "hmmErrorIllegalAddress"; never NULL. */
HMM_API const char* hmmGetErrorName(hmmError_t error);
/* Description of an error in one sentence; never NULL. */
HMM_API const char* hmmGetErrorString(hmmError_t error);
/*
 * Describes the last failed call of this thread. The string is valid until the
 * thread's next hmm call. Not in CUDA.
 */
HMM_API const char* hmmGetLastErrorDetail(void);
/*
 * Gets the fault record of the last failed call of this thread, if a failed
 * kernel was the cause; otherwise @error of the record is hmmSuccess. The
 * failed device need not be the current device, and may have been reset since.
 * Not in CUDA.
 */
HMM_API hmmError_t hmmGetLastErrorRecord(hmmFaultRecord* record);
/*
 * Gets the exception that left a kernel and caused the last failed call of this
 * thread, for C++. @exception points to a std::exception_ptr, which is empty
 * afterwards if there is no such exception. Not in CUDA.
 */
HMM_API hmmError_t hmmGetLastErrorException(void* exception);
/* Gets the fault record of the current device's sticky error. Not in CUDA. */
HMM_API hmmError_t hmmGetLastFault(hmmFaultRecord* record);

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus) && __cplusplus >= 201703L
#include "hmm_overloads.hpp"
#endif

#endif /* HMM_HMM_RUNTIME_H */
