/* SPDX-License-Identifier: MIT */
/* Memory that the library gives out: at once, and in the order of streams; hmm_runtime.h includes
 * it. */
#ifndef HMM_HMM_ALLOCATION_H
#define HMM_HMM_ALLOCATION_H

#include "hmm_types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Memory of its own mapping, as hmmMallocManaged() gives it, which prefers the current device:
 * its faults bring it there. It takes no room on the device before it is touched, so there
 * may be more of it than the device has; and the CPU may use it, which brings it home. Full of
 * zeroes. Starts the device. 0 bytes: success and NULL.
 */
HMM_API hmmError_t hmmMalloc(void** memory, size_t bytes);

#define hmmHostAllocDefault 0x0u
#define hmmHostAllocPortable 0x1u      /* always so */
#define hmmHostAllocMapped 0x2u        /* always so */
#define hmmHostAllocWriteCombined 0x4u /* changes nothing */

/*
 * Memory of its own mapping that is registered: locked in system memory, used by devices from
 * there. Full of zeroes; errors as of hmmHostRegister(). 0 bytes: success and NULL.
 */
HMM_API hmmError_t hmmHostAlloc(void** memory, size_t bytes, unsigned int flags);
HMM_API hmmError_t hmmMallocHost(void** memory, size_t bytes);
/*
 * Gives memory of the two above back when all work of all devices is done; errors as of
 * hmmFree(). NULL: nothing. hmmErrorInvalidValue for other memory.
 */
HMM_API hmmError_t hmmFreeHost(void* memory);

#define hmmMemAttachGlobal 0x1u
#define hmmMemAttachHost 0x2u
#define hmmMemAttachSingle 0x4u

/*
 * Declares that all devices, the CPU, or this stream alone will use the memory, beginning with
 * work that is queued in @stream after this call. The call checks its arguments and changes
 * nothing: CPU and devices may use all memory at any time. @ptr: what hmmMallocManaged() gave, with
 * @bytes 0; or any range. hmmErrorInvalidValue for unknown @flags, and for Single with the legacy
 * default stream.
 */
HMM_API hmmError_t hmmStreamAttachMemAsync(hmmStream_t stream, void* ptr,
                                           size_t bytes HMM_DEFAULT(0),
                                           unsigned int flags HMM_DEFAULT(hmmMemAttachSingle));

/* ---- in the order of streams ------------------------------------------ */

/*
 * A pool keeps memory that was freed and gives it out again: to work behind the free in the same
 * stream at once, to other work when the free has been reached. Memory is as that of
 * hmmMalloc(), but what is in it at first is not defined. It takes whole pages.
 *
 * Each device has a default pool, which stays, and a current one, at first the default one. Both
 * survive hmmDeviceReset(). A handle of a pool that is gone is an hmmErrorInvalidResourceHandle.
 */
typedef struct hmmMemPool* hmmMemPool_t;

typedef enum hmmMemAllocationType {
    hmmMemAllocationTypeInvalid = 0,
    hmmMemAllocationTypePinned = 1 /* the only one; it moves all the same */
} hmmMemAllocationType;

typedef enum hmmMemAllocationHandleType {
    hmmMemHandleTypeNone = 0,
    hmmMemHandleTypePosixFileDescriptor = 1 /* hmmErrorNotSupported */
} hmmMemAllocationHandleType;

typedef struct hmmMemPoolProps {
    hmmMemAllocationType allocType;
    hmmMemAllocationHandleType handleTypes;
    hmmMemLocation location; /* a device; hmmErrorNotSupported for other places */
    size_t maxSize;          /* bytes that the pool may have; 0: any number */
    unsigned char reserved[64];
} hmmMemPoolProps;

typedef enum hmmMemPoolAttr {
    hmmMemPoolReuseFollowEventDependencies = 1, /* int: 0, other values hmmErrorNotSupported */
    hmmMemPoolReuseAllowOpportunistic = 2,      /* int: whether what is unused goes to any stream */
    hmmMemPoolReuseAllowInternalDependencies = 3, /* int: 0, other values hmmErrorNotSupported */
    /* uint64_t: bytes that a synchronisation leaves the pool; 0 at first */
    hmmMemPoolAttrReleaseThreshold = 4,
    hmmMemPoolAttrReservedMemCurrent = 5, /* uint64_t: bytes that the pool has */
    hmmMemPoolAttrReservedMemHigh = 6,    /* uint64_t: the most it ever had; may be set to 0 */
    hmmMemPoolAttrUsedMemCurrent = 7,     /* uint64_t: of them, those that are given out */
    hmmMemPoolAttrUsedMemHigh = 8         /* uint64_t: the most that ever were; may be set to 0 */
} hmmMemPoolAttr;

/*
 * Memory for work that is queued in @stream from now on. Earlier work in @stream may still use the
 * same memory under its last allocation: order other streams, the CPU, and a free in another stream
 * behind this place in @stream, by an event or a synchronisation. From the current pool of the
 * stream's device, or from @pool. hmmErrorMemoryAllocation if the pool may not have that much. 0
 * bytes: success and NULL.
 */
HMM_API hmmError_t hmmMallocAsync(void** memory, size_t bytes, hmmStream_t stream);
HMM_API hmmError_t hmmMallocFromPoolAsync(void** memory, size_t bytes, hmmMemPool_t pool,
                                          hmmStream_t stream);
/*
 * Gives memory of the two above back to its pool when the work queued before in @stream is done.
 * hmmErrorInvalidValue for other memory. If the call fails, the memory stays the caller's;
 * hmmFree() takes it too.
 */
HMM_API hmmError_t hmmFreeAsync(void* memory, hmmStream_t stream);

/* hmmErrorInvalidValue for props that are not as said above. */
HMM_API hmmError_t hmmMemPoolCreate(hmmMemPool_t* pool, const hmmMemPoolProps* props);
/*
 * Returns at once. Memory that is given out stays what it is until it is freed. Where the pool was
 * the current one, the default one is. hmmErrorInvalidValue for a default pool.
 */
HMM_API hmmError_t hmmMemPoolDestroy(hmmMemPool_t pool);
/* Gives unused memory back to the system, while the pool has more than that. */
HMM_API hmmError_t hmmMemPoolTrimTo(hmmMemPool_t pool, size_t minBytesToKeep);
/* @value: as said with the attribute. hmmErrorInvalidValue for an unknown one. */
HMM_API hmmError_t hmmMemPoolGetAttribute(hmmMemPool_t pool, hmmMemPoolAttr attr, void* value);
/* hmmErrorInvalidValue, too, for one that cannot be set, or not to that. */
HMM_API hmmError_t hmmMemPoolSetAttribute(hmmMemPool_t pool, hmmMemPoolAttr attr, void* value);
HMM_API hmmError_t hmmDeviceGetDefaultMemPool(hmmMemPool_t* pool, int device);
HMM_API hmmError_t hmmDeviceGetMemPool(hmmMemPool_t* pool, int device);
/* hmmErrorInvalidValue for a pool of another device. */
HMM_API hmmError_t hmmDeviceSetMemPool(int device, hmmMemPool_t pool);

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_ALLOCATION_H */
