/* SPDX-License-Identifier: MIT */
/*
 * Memory allocation: immediate and stream-ordered. hmm_runtime.h includes this
 * file.
 */
#ifndef HMM_HMM_ALLOCATION_H
#define HMM_HMM_ALLOCATION_H

#include "hmm_types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Allocates zero-filled memory, as hmmMallocManaged() does, and sets the
 * current device as its preferred location: faults of that device migrate pages
 * to it. Memory of two devices shares no page. Starts the device. The
 * allocation takes no device memory until it is touched, so a program may
 * allocate more than the device has. The CPU may access the memory; the access
 * migrates the page back to system memory. For 0 bytes, returns success and
 * NULL. hmmErrorMemoryAllocation if there is not enough memory.
 *
 * Memory of the cpu device cannot be evicted: hmmErrorMemoryAllocation if the
 * device has no memory left for the whole allocation.
 *
 * CUDA: allocates device memory immediately, and the CPU cannot access it.
 */
HMM_API hmmError_t hmmMalloc(void** memory, size_t bytes);

#define hmmHostAllocDefault 0x0u
#define hmmHostAllocPortable 0x1u      /* no effect: always portable */
#define hmmHostAllocMapped 0x2u        /* no effect: always mapped */
#define hmmHostAllocWriteCombined 0x4u /* no effect */

/*
 * Allocates zero-filled memory, as hmmMallocManaged() does, and registers it:
 * its pages are locked in system memory, and devices access them there. Errors
 * as for hmmHostRegister(). For 0 bytes, returns success and NULL.
 *
 * CUDA: no memory limit applies (nor on the cpu device here), and
 * hmmHostAllocWriteCombined has an effect.
 */
HMM_API hmmError_t hmmHostAlloc(void** memory, size_t bytes, unsigned int flags);
/* As hmmHostAlloc(), without flags. */
HMM_API hmmError_t hmmMallocHost(void** memory, size_t bytes);
/*
 * Frees memory of hmmHostAlloc() or hmmMallocHost(), after all work of all
 * devices is done. Errors as for hmmFree(). NULL is ignored.
 * hmmErrorInvalidValue for other memory.
 */
HMM_API hmmError_t hmmFreeHost(void* memory);

#define hmmMemAttachGlobal 0x1u
#define hmmMemAttachHost 0x2u
#define hmmMemAttachSingle 0x4u

/*
 * Declares that all devices, the CPU, or only @stream will use the memory,
 * starting with work that is queued in @stream after this call. The call checks
 * its arguments and has no other effect: the CPU and all devices may use all
 * memory at any time. @ptr: a pointer from hmmMallocManaged() or a managed
 * variable, with @bytes 0; or the start of any range. hmmErrorInvalidValue for
 * unknown @flags, and for hmmMemAttachSingle with the legacy default stream.
 *
 * CUDA: on devices without concurrentManagedAccess the call decides if the CPU
 * or a stream may use the memory.
 */
HMM_API hmmError_t hmmStreamAttachMemAsync(hmmStream_t stream, void* ptr,
                                           size_t bytes HMM_DEFAULT(0),
                                           unsigned int flags HMM_DEFAULT(hmmMemAttachSingle));

/* ---- stream-ordered allocation ---------------------------------------- */

/*
 * A pool keeps freed memory and reuses it. Work queued in the stream of the
 * free, after the free, may reuse the memory immediately; other work may reuse
 * it once that stream has reached the free. Pool memory behaves as that of
 * hmmMalloc(), but its initial content is undefined. Allocations are rounded up
 * to 256 bytes or to the next power of two up to 2 KiB, and more to whole pages.
 *
 * Each device has a default pool, which cannot be destroyed, and a current
 * pool, which initially is the default pool. Both survive hmmDeviceReset().
 * Functions return hmmErrorInvalidResourceHandle for the handle of a destroyed
 * pool.
 */
typedef struct hmmMemPool* hmmMemPool_t;

typedef enum hmmMemAllocationType {
    hmmMemAllocationTypeInvalid = 0,
    /* memory objects stay at their location; memory of pools still migrates */
    hmmMemAllocationTypePinned = 1,
    hmmMemAllocationTypeManaged = 2 /* memory objects only: migratable */
} hmmMemAllocationType;

typedef enum hmmMemAllocationHandleType {
    hmmMemHandleTypeNone = 0,
    hmmMemHandleTypePosixFileDescriptor = 1, /* memory objects only */
    hmmMemHandleTypeWin32 = 2,               /* hmmErrorNotSupported, as the following */
    hmmMemHandleTypeWin32Kmt = 4,
    hmmMemHandleTypeFabric = 8
} hmmMemAllocationHandleType;

typedef struct hmmMemPoolProps {
    hmmMemAllocationType allocType;
    /* none; hmmErrorNotSupported for others */
    hmmMemAllocationHandleType handleTypes;
    /* a device; hmmErrorNotSupported for other locations */
    hmmMemLocation location;
    /* maximum size of the pool in bytes; 0: no limit */
    size_t maxSize;
    unsigned char reserved[64];
} hmmMemPoolProps;

typedef enum hmmMemPoolAttr {
    /* int: must be 0; other values: hmmErrorNotSupported */
    hmmMemPoolReuseFollowEventDependencies = 1,
    /* int: nonzero if any stream may reuse unused memory */
    hmmMemPoolReuseAllowOpportunistic = 2,
    /* int: must be 0; other values: hmmErrorNotSupported */
    hmmMemPoolReuseAllowInternalDependencies = 3,
    /*
     * uint64_t: a synchronisation returns unused memory to the system while the
     * pool has more than this many bytes; initially 0
     */
    hmmMemPoolAttrReleaseThreshold = 4,
    /* uint64_t: bytes reserved by the pool */
    hmmMemPoolAttrReservedMemCurrent = 5,
    /* uint64_t: peak of ReservedMemCurrent; may be set to 0 */
    hmmMemPoolAttrReservedMemHigh = 6,
    /* uint64_t: reserved bytes that are allocated */
    hmmMemPoolAttrUsedMemCurrent = 7,
    /* uint64_t: peak of UsedMemCurrent; may be set to 0 */
    hmmMemPoolAttrUsedMemHigh = 8
} hmmMemPoolAttr;

/*
 * Allocates memory from the current pool of the stream's device, for work that
 * is queued in @stream after this call. Earlier work in @stream may still use
 * the same memory through its previous allocation. Use an event or a
 * synchronisation to order accesses by other streams and by the CPU, and a free
 * in another stream, after this point of @stream. hmmErrorMemoryAllocation if
 * there is not enough memory, or the pool would exceed its maximum size. For 0
 * bytes, returns success and NULL.
 *
 * CUDA: allocates device memory, and the CPU cannot access it.
 */
HMM_API hmmError_t hmmMallocAsync(void** memory, size_t bytes, hmmStream_t stream);
/*
 * As hmmMallocAsync(), from @pool.
 *
 * CUDA: allocates device memory, and the CPU cannot access it.
 */
HMM_API hmmError_t hmmMallocFromPoolAsync(void** memory, size_t bytes, hmmMemPool_t pool,
                                          hmmStream_t stream);
/*
 * Returns memory of a pool to it when all work queued before in @stream is done.
 * Memory of hmmMalloc() goes to the default pool of its device.
 * hmmErrorNotSupported for managed memory, hmmErrorInvalidValue for other
 * memory. NULL is ignored. If the call fails, the caller still owns the memory.
 * hmmFree() accepts memory of pools too.
 */
HMM_API hmmError_t hmmFreeAsync(void* memory, hmmStream_t stream);

/*
 * Creates a pool. hmmErrorNotSupported for handles that other processes can
 * import and for a location that is not a device; hmmErrorInvalidValue for
 * another allocation type.
 *
 * CUDA: supports both.
 */
HMM_API hmmError_t hmmMemPoolCreate(hmmMemPool_t* pool, const hmmMemPoolProps* props);
/*
 * Destroys a pool without waiting. Its allocations stay valid until they are
 * freed. If the pool was the current pool of its device, the default pool
 * becomes the current one. hmmErrorInvalidValue for a default pool.
 */
HMM_API hmmError_t hmmMemPoolDestroy(hmmMemPool_t pool);
/*
 * Returns unused memory to the system while the pool has more than
 * @minBytesToKeep bytes.
 */
HMM_API hmmError_t hmmMemPoolTrimTo(hmmMemPool_t pool, size_t minBytesToKeep);
/*
 * Gets an attribute of a pool. @value points to an int or a uint64_t, as the
 * attribute says. hmmErrorInvalidValue for an unknown attribute.
 */
HMM_API hmmError_t hmmMemPoolGetAttribute(hmmMemPool_t pool, hmmMemPoolAttr attr, void* value);
/*
 * Sets an attribute of a pool. @value points to an int or a uint64_t, as the
 * attribute says. hmmErrorInvalidValue for an attribute that is unknown, cannot
 * be set, or cannot be set to this value; hmmErrorNotSupported for reuse that
 * follows event dependencies or adds internal dependencies.
 *
 * CUDA: supports both and enables them by default.
 */
HMM_API hmmError_t hmmMemPoolSetAttribute(hmmMemPool_t pool, hmmMemPoolAttr attr, void* value);
/* Gets the default pool of a device; the first call creates it. */
HMM_API hmmError_t hmmDeviceGetDefaultMemPool(hmmMemPool_t* pool, int device);
/* Gets the current pool of a device. */
HMM_API hmmError_t hmmDeviceGetMemPool(hmmMemPool_t* pool, int device);
/*
 * Sets the current pool of a device. hmmErrorInvalidValue for a pool of another
 * device.
 */
HMM_API hmmError_t hmmDeviceSetMemPool(int device, hmmMemPool_t pool);

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_ALLOCATION_H */
