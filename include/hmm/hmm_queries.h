/* SPDX-License-Identifier: MIT */
/* Versions, settings of devices, and what programs ask to choose a launch by; hmm_runtime.h
 * includes it. */
#ifndef HMM_HMM_QUERIES_H
#define HMM_HMM_QUERIES_H

#include "hmm_types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- versions --------------------------------------------------------- */

/* 1000 * major + 10 * minor, of this library. */
#define HMMRT_VERSION 10

/* That of the library that runs. */
HMM_API hmmError_t hmmRuntimeGetVersion(int* version);
/*
 * That of the library too, if the loaded modules speak its version; 0 if there are none, or of
 * another version.
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
 * Flags of the current device in this process. They are kept and change nothing: all waiting is
 * done asleep, and devices reach all memory of the host. hmmErrorInvalidValue for unknown flags,
 * and for more than one way to wait.
 */
HMM_API hmmError_t hmmSetDeviceFlags(unsigned int flags);
/* As they were set, 0 at first. */
HMM_API hmmError_t hmmGetDeviceFlags(unsigned int* flags);

/* hmmErrorUnsupportedLimit for all but the two that say something. */
typedef enum hmmLimit {
    hmmLimitStackSize = 0, /* bytes of a lane's stack, which RLIMIT_STACK of the program decides */
    hmmLimitPrintfFifoSize = 1,
    hmmLimitMallocHeapSize = 2, /* SIZE_MAX: kernels allocate from the heap of the program */
    hmmLimitDevRuntimeSyncDepth = 3,
    hmmLimitDevRuntimePendingLaunchCount = 4,
    hmmLimitMaxL2FetchGranularity = 5,
    hmmLimitPersistingL2CacheSize = 6
} hmmLimit;

/* Of the current device. hmmErrorInvalidValue for a number that is no limit. */
HMM_API hmmError_t hmmDeviceGetLimit(size_t* value, hmmLimit limit);
/* Asks for at least that, and changes nothing: hmmErrorInvalidValue if it is more than there is. */
HMM_API hmmError_t hmmDeviceSetLimit(hmmLimit limit, size_t value);

/* ---- launches --------------------------------------------------------- */

typedef struct hmmFuncAttributes {
    size_t sharedSizeBytes;        /* 0: there is no shared memory; likewise those below */
    size_t constSizeBytes;         /* 0 */
    size_t localSizeBytes;         /* 0: what a function takes of the stack is not known */
    int maxThreadsPerBlock;        /* as of the device */
    int numRegs;                   /* 0 */
    int ptxVersion;                /* 0: code of the program itself */
    int binaryVersion;             /* 0 */
    int cacheModeCA;               /* 0 */
    int maxDynamicSharedSizeBytes; /* 0 */
    int preferredShmemCarveout;    /* 0 */
    int reserved[16];
} hmmFuncAttributes;

/* The same of all functions. hmmErrorInvalidDeviceFunction for NULL. */
HMM_API hmmError_t hmmFuncGetAttributes(hmmFuncAttributes* attributes, const void* function);

#define hmmOccupancyDefault 0x0u
#define hmmOccupancyDisableCachingOverride 0x1u

/*
 * Blocks that a lane works on at a time: 1, or 0 for one with shared memory, which no lane has.
 * hmmErrorInvalidDeviceFunction for NULL as a function, hmmErrorInvalidValue for a block of less
 * than one thread and for unknown flags.
 */
HMM_API hmmError_t hmmOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                                int blockSize, size_t sharedMem);
HMM_API hmmError_t hmmOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int blockSize, size_t sharedMem, unsigned int flags);
/*
 * A block of which a lane has one, and as many of them as keep all lanes at work. @blockSizeLimit:
 * no larger block, 0 for any. hmmErrorNotSupported for @sharedMem other than 0. CUDA has it in C++
 * only.
 */
HMM_API hmmError_t hmmOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize,
                                                     const void* function, size_t sharedMem,
                                                     int blockSizeLimit);
/* Bytes of shared memory that are left to each of so many blocks: 0. */
HMM_API hmmError_t hmmOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* function,
                                                            int blocks, int blockSize);

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_QUERIES_H */
