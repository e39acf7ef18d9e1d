/* SPDX-License-Identifier: MIT */
/*
 * Statistics: what a device and the memory manager did for this process.
 * hmm_runtime.h includes this file. CUDA has no such function.
 */
#ifndef HMM_HMM_STATS_H
#define HMM_HMM_STATS_H

#include "hmm_types.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Counts since the device was started for this process; hmmDeviceReset() ends
 * them. pagesToHost, cpuFaults and invalidations count for all devices of the
 * process together, since its first use of a device, and a reset does not end
 * them. Pages have 4 KiB.
 */
typedef struct hmmStats {
    uint64_t launches;      /* kernels, copies and fills that were queued */
    uint64_t deviceFaults;  /* page faults of the device that were served */
    uint64_t failedFaults;  /* page faults of the device that failed */
    uint64_t cpuFaults;     /* page faults of the CPU on pages in device memory */
    uint64_t pagesToDevice; /* pages that migrated to the device */
    /* pages that migrated to system memory, except by evictions */
    uint64_t pagesToHost;
    uint64_t pagesEvicted; /* pages of this process that were evicted */
    /* chunks of 2 MiB, of any process, that were evicted for this process */
    uint64_t evictions;
    uint64_t duplicates;    /* duplicates of read-mostly pages that were made */
    uint64_t pagesMapped;   /* page table entries of the device that were written */
    uint64_t pagesRemote;   /* those of them that point to memory elsewhere */
    uint64_t countedMoves;  /* pages that migrated because of access counters */
    uint64_t invalidations; /* changes of mappings that devices were told */
    uint64_t retries;       /* attempts to serve a fault that were repeated */
    /* times that memory was found to migrate back and forth */
    uint64_t thrashing;
    uint64_t throttledFaults; /* page faults of the device delayed for that */
    uint64_t thrashPins;      /* times that memory was pinned for that */
    /* faults and blocks of calls that left pages where they are */
    uint64_t quotaRefusals;  /* because of a quota */
    uint64_t memoryRefusals; /* because the device was full */
    uint64_t reserved[13];
} hmmStats;

/*
 * Gets the statistics of the current device. All counts are 0 while the device
 * is not started for this process; the call does not start it. The cpu device
 * counts launches only. Counts of one call may be of slightly different times.
 * hmmErrorInsufficientDriver if the modules have no statistics.
 */
HMM_API hmmError_t hmmGetStats(hmmStats* stats);

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_STATS_H */
