/* SPDX-License-Identifier: MIT */
/*
 * The calls of GMEM, openEuler's memory manager for devices: a program includes
 * this file in place of libgmem.h. docs/gmem.md compares each call with theirs.
 *
 * All memory of a program is shared with the devices here, so no call allocates
 * any: devices use memory of mmap(), with or without MAP_PEER_SHARED, and of
 * malloc() alike.
 *
 * Functions return 0, or -1 and set errno. hmmGetLastErrorDetail() describes
 * the error in words. Each function can fail with
 *
 *	EINVAL	an argument is out of range, or the stream does not exist
 *	ENODEV	there is no device, it could not be started or was removed, or
 *		the caller is a forked child of a process that used one
 *	ENOMEM	there is not enough memory for bookkeeping
 *	EPERM	the caller is a host function
 *	ENOTSUP	the caller is device code
 *	EIO	the device has failed: see hmmDeviceReset()
 */
#ifndef HMM_GMEM_H
#define HMM_GMEM_H

#include "hmm_types.h"

#include <stddef.h>
#include <sys/mman.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For hmadvise(). */
#ifndef MADV_PREFETCH
#define MADV_PREFETCH 32
#endif
#ifndef MADV_DONTNEED
#define MADV_DONTNEED 4
#endif
#define MADV_EAGERFREE MADV_DONTNEED

/*
 * A flag of mmap(), for mappings that are private and anonymous. It has no
 * effect: Linux ignores it, and devices can use the memory with and without it.
 * It must not be used with MAP_HUGETLB, for which its bit is part of the size.
 */
#ifndef MAP_PEER_SHARED
#define MAP_PEER_SHARED 0x8000000
#endif

/*
 * An hnid is the number of a location: 0 to 1023 are the NUMA nodes of the host,
 * and the devices follow in the order of their device numbers.
 */
#define gmemHnidOfDevice(device) (1024 + (device))
/* Negative for a node of the host. */
#define gmemDeviceOfHnid(hnid) ((hnid)-1024)

/*
 * Migrates or discards memory, and returns when that is done.
 *
 * MADV_PREFETCH: migrates the pages that the range touches to device @hnid, or
 * to system memory if @hnid is a node, and returns when they are there. Pages
 * that come from a device are allocated on the node; pages that are already in
 * system memory stay where they are. Pages that cannot move are no error.
 *
 * MADV_EAGERFREE: discards the content of the pages that are entirely inside the
 * range, wherever they are. Until it is written again, private anonymous memory
 * reads as zeroes, a private mapping of a file reads as the file, and shared
 * memory keeps its content. @hnid is -1, a device that exists, or a number of a
 * node; it has no effect.
 *
 * Neither waits for work that is queued on a device. A range of 0 bytes has no
 * effect.
 *
 * EINVAL: also for an hnid that is no device's and no node's, for a node to
 * migrate to that is not online, and for other @behavior; and if the range has
 * locked memory, a mapping of a memory object, or a part of a huge page of
 * hugetlbfs that MADV_EAGERFREE cannot discard: the pages before it are then
 * discarded. ENOMEM: also if part of the range is not mapped; the pages that
 * are mapped may have migrated, or are discarded.
 */
HMM_API int hmadvise(int hnid, unsigned long start, size_t len, int behavior);

/*
 * Migrates memory as hmadvise() does with MADV_PREFETCH. If @stream is not
 * NULL, it is an hmmStream_t: the migration is queued in it, and the next
 * synchronisation of the device reports a range that is not mapped, and a node
 * that is not online.
 */
HMM_API int gmemPrefetch(unsigned long addr, size_t size, int hnid, void* stream);

/*
 * Discards memory as hmadvise() does with MADV_EAGERFREE. If @stream is not
 * NULL, it is an hmmStream_t: the memory is discarded when the work that was
 * queued in it before is done, and the next synchronisation of the device
 * reports memory that is not mapped or cannot be discarded.
 */
HMM_API int gmemFreeEager(unsigned long addr, size_t size, void* stream);

/* Returns the hnid of the current device, or -1. */
HMM_API int gmemGetNumaId(void);

#ifdef __cplusplus
}

/* The first version of libgmem had no @hnid: migrates to the current device. */
inline int gmemPrefetch(unsigned long addr, size_t size, void* stream) {
    const int hnid = gmemGetNumaId();
    return hnid < 0 ? hnid : gmemPrefetch(addr, size, hnid, stream);
}
#endif

#endif /* HMM_GMEM_H */
