/* SPDX-License-Identifier: MIT */
/*
 * Versions, device flags and limits, function attributes and occupancy.
 * hmm_runtime.h includes this file.
 */
#ifndef HMM_HMM_QUERIES_H
#define HMM_HMM_QUERIES_H

#include "hmm_types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- versions --------------------------------------------------------- */

/* Version of this header: 1000 * major + 10 * minor. */
#define HMMRT_VERSION 10

/*
 * Version of the loaded library: 1000 * major + 10 * minor, as HMMRT_VERSION.
 */
HMM_API hmmError_t hmmRuntimeGetVersion(int* version);
/*
 * Version of the library if the loaded modules implement the same interface
 * version. 0 if no modules are loaded, or they have another version. Missing
 * modules are no error.
 *
 * CUDA: may be higher than the version of the library.
 */
HMM_API hmmError_t hmmDriverGetVersion(int* version);

/* ---- settings --------------------------------------------------------- */

#define hmmDeviceScheduleAuto 0x0u
#define hmmDeviceScheduleSpin 0x1u
#define hmmDeviceScheduleYield 0x2u
#define hmmDeviceScheduleBlockingSync 0x4u
#define hmmDeviceScheduleMask 0x7u
#define hmmDeviceMapHost 0x8u
#define hmmDeviceLmemResizeToMax 0x10u
#define hmmDeviceMask 0x1fu

/*
 * Sets flags of the current device for this process. The library stores them,
 * and they have no effect: all waits sleep, and devices can access all system
 * memory. hmmErrorInvalidValue for unknown flags, and for more than one
 * hmmDeviceSchedule flag.
 *
 * CUDA: the flags select how the CPU waits.
 */
HMM_API hmmError_t hmmSetDeviceFlags(unsigned int flags);
/* Gets the flags that were set; initially 0. */
HMM_API hmmError_t hmmGetDeviceFlags(unsigned int* flags);

/*
 * hmmErrorUnsupportedLimit for all but hmmLimitStackSize and
 * hmmLimitMallocHeapSize.
 */
typedef enum hmmLimit {
    /*
     * stack size of a lane in bytes: HMMRT_STACK_SIZE, else RLIMIT_STACK of
     * the program
     */
    hmmLimitStackSize = 0,
    hmmLimitPrintfFifoSize = 1,
    /* SIZE_MAX: kernels allocate from the program's heap */
    hmmLimitMallocHeapSize = 2,
    hmmLimitDevRuntimeSyncDepth = 3,
    hmmLimitDevRuntimePendingLaunchCount = 4,
    hmmLimitMaxL2FetchGranularity = 5,
    hmmLimitPersistingL2CacheSize = 6
} hmmLimit;

/*
 * Gets a limit of the current device in bytes: the stack size of a lane
 * (HMMRT_STACK_SIZE), or the heap size (SIZE_MAX). hmmErrorUnsupportedLimit for
 * other limits, hmmErrorInvalidValue for a @limit that is not an hmmLimit.
 *
 * CUDA: has limits for printf and for launches by kernels.
 */
HMM_API hmmError_t hmmDeviceGetLimit(size_t* value, hmmLimit limit);
/*
 * Checks that the limit is at least @value and changes nothing.
 * hmmErrorInvalidValue if @value exceeds the limit. HMMRT_STACK_SIZE sets the
 * stack size before the program starts. Other errors as for
 * hmmDeviceGetLimit().
 *
 * CUDA: sets the limit.
 */
HMM_API hmmError_t hmmDeviceSetLimit(hmmLimit limit, size_t value);

/* ---- functions and occupancy ------------------------------------------ */

typedef struct hmmFuncAttributes {
    size_t sharedSizeBytes;        /* 0: no shared memory */
    size_t constSizeBytes;         /* 0 */
    size_t localSizeBytes;         /* 0: unknown */
    int maxThreadsPerBlock;        /* as for the device */
    int numRegs;                   /* 0 */
    int ptxVersion;                /* 0: native code */
    int binaryVersion;             /* 0 */
    int cacheModeCA;               /* 0 */
    int maxDynamicSharedSizeBytes; /* 0 */
    int preferredShmemCarveout;    /* 0 */
    int reserved[16];
} hmmFuncAttributes;

/*
 * Gets the attributes of a function; they are the same for all functions.
 * hmmErrorInvalidDeviceFunction for NULL.
 *
 * CUDA: returns the requirements of the function.
 */
HMM_API hmmError_t hmmFuncGetAttributes(hmmFuncAttributes* attributes, const void* function);

#define hmmOccupancyDefault 0x0u
#define hmmOccupancyDisableCachingOverride 0x1u

/*
 * Number of blocks that a lane runs at a time: 1, or 0 if @sharedMem is not 0,
 * because lanes have no shared memory. hmmErrorInvalidDeviceFunction if
 * @function is NULL, hmmErrorInvalidValue for a @blockSize below 1 and for
 * unknown flags.
 *
 * CUDA: depends on the requirements of the function.
 */
HMM_API hmmError_t hmmOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                                int blockSize, size_t sharedMem);
/*
 * As hmmOccupancyMaxActiveBlocksPerMultiprocessor(). @flags:
 * hmmOccupancyDisableCachingOverride or 0.
 *
 * CUDA: depends on the requirements of the function.
 */
HMM_API hmmError_t hmmOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int blockSize, size_t sharedMem, unsigned int flags);
/*
 * Suggests a block size, and the number of blocks that occupies all lanes.
 * @minGridSize gets the number of lanes, @blockSize 1024, or @blockSizeLimit if
 * that is lower; @blockSizeLimit 0 is no limit. hmmErrorNotSupported if
 * @sharedMem is not 0; other errors as for
 * hmmOccupancyMaxActiveBlocksPerMultiprocessor(). CUDA has this function in C++
 * only.
 */
HMM_API hmmError_t hmmOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize,
                                                     const void* function, size_t sharedMem,
                                                     int blockSizeLimit);
/*
 * Shared memory available to each block when @blocks blocks run on a lane: 0
 * bytes. Errors as for hmmOccupancyMaxActiveBlocksPerMultiprocessor().
 *
 * CUDA: depends on the requirements of the function.
 */
HMM_API hmmError_t hmmOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function,
                                                            int blocks, int blockSize);

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_QUERIES_H */
