/* SPDX-License-Identifier: MIT */
/*
 * Low-level virtual memory management: memory and addresses are made apart from
 * each other. hmm_runtime.h includes this file.
 *
 * A *memory object* is memory without an address (CUDA: physical memory, a
 * generic allocation). A *reserved range* is addresses without memory. Mapping
 * a memory object into a reserved range joins the two, and hmmMemSetAccess()
 * says which devices may use the mapping, and whether the CPU may. Before that
 * no processor can: a device access is an illegal address, a CPU access raises
 * SIGSEGV.
 *
 *     hmmMemAllocationProp prop = {};
 *     prop.type = hmmMemAllocationTypePinned;
 *     prop.location = {hmmMemLocationTypeDevice, 0};
 *     hmmMemCreate(&handle, bytes, &prop, 0);
 *     hmmMemAddressReserve(&ptr, bytes, 0, 0, 0);
 *     hmmMemMap(ptr, bytes, 0, handle, 0);
 *     hmmMemAccessDesc access = {prop.location, hmmMemAccessFlagsProtReadWrite};
 *     hmmMemSetAccess(ptr, bytes, &access, 1);
 *
 * The functions have the names, arguments and rules of CUDA's driver API. hmm.h
 * adds that API's spelling of types and constants. Beyond CUDA's rules, a
 * mapping may begin at any multiple of the granularity in the memory object and
 * may be a part of it, a part of a mapping can be unmapped, a memory object can
 * have several addresses, every memory object can be made accessible to the
 * CPU, and a memory object can be migratable.
 *
 * Sizes, offsets and addresses are multiples of the granularity, which is 2 MiB
 * for all memory objects; otherwise functions return hmmErrorInvalidValue. A
 * range may cover several mappings and reserved ranges without holes between
 * them. A function that fails has changed nothing. Any thread may call any
 * function at any time.
 *
 * The program must not use munmap(), mmap(), mremap() or mprotect() on reserved
 * ranges. In a child of fork() the mappings are holes.
 */
#ifndef HMM_HMM_VIRTUAL_MEMORY_H
#define HMM_HMM_VIRTUAL_MEMORY_H

#include "hmm_allocation.h"
#include "hmm_types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An address as a number, as in CUDA's driver API. */
typedef unsigned long long hmmDeviceptr;

/*
 * Handle of a memory object; never 0. Functions return
 * hmmErrorInvalidResourceHandle for a handle that was released as often as it
 * was created or retained, and for a value that never was a handle (CUDA does
 * not define this).
 */
typedef unsigned long long hmmMemGenericAllocationHandle;

typedef enum hmmMemAllocationGranularity {
    hmmMemAllocationGranularityMinimum = 0,
    hmmMemAllocationGranularityRecommended = 1
} hmmMemAllocationGranularity;

/* Describes a memory object. Members that are not named here must be 0. */
typedef struct hmmMemAllocationProp {
    /*
     * hmmMemAllocationTypePinned: the memory stays at its location.
     * hmmMemAllocationTypeManaged: it is migratable. It moves as other memory
     * does, by faults, prefetches and advice, and is evicted when a device is
     * full.
     */
    hmmMemAllocationType type;
    /*
     * hmmMemHandleTypePosixFileDescriptor if the memory object will be exported
     */
    hmmMemAllocationHandleType requestedHandleTypes;
    /* where the memory is; for a migratable memory object, where it is at first */
    hmmMemLocation location;
    void* win32HandleMetaData; /* must be NULL */
    struct {
        /* hmmMemAllocationCompressionGeneric is accepted and has no effect */
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable; /* 1: hmmErrorNotSupported */
        unsigned short usage;               /* not 0: hmmErrorNotSupported */
        unsigned char reserved[4];          /* must be 0 */
    } allocFlags;
} hmmMemAllocationProp;

#define hmmMemAllocationCompressionNone 0x0u
#define hmmMemAllocationCompressionGeneric 0x1u

typedef enum hmmMemAccessFlags {
    hmmMemAccessFlagsProtNone = 0,
    hmmMemAccessFlagsProtRead = 1,
    hmmMemAccessFlagsProtReadWrite = 3
} hmmMemAccessFlags;

/* What a device may do, or the CPU (hmmMemLocationTypeHost and its nodes). */
typedef struct hmmMemAccessDesc {
    hmmMemLocation location;
    hmmMemAccessFlags flags;
} hmmMemAccessDesc;

/*
 * Gets the granularity of memory objects with these properties: 2 MiB, for both
 * values of @option. Errors in @prop as for hmmMemCreate().
 *
 * CUDA: the value depends on the device.
 */
HMM_API hmmError_t hmmMemGetAllocationGranularity(size_t* granularity,
                                                  const hmmMemAllocationProp* prop,
                                                  hmmMemAllocationGranularity option);

/*
 * Creates a memory object of @size bytes that are zero. The location is a
 * device, the host or a NUMA node of the host. Does not start the device.
 * @flags must be 0. hmmErrorInvalidValue for a @size that is 0 or no multiple
 * of the granularity, and for @prop with unknown values; hmmErrorNotSupported
 * for handle types of other systems, RDMA and special usage;
 * hmmErrorMemoryAllocation if the location has not enough memory, even after
 * evicting what may be evicted, or if a quota does not allow it;
 * hmmErrorNotPermitted if RLIMIT_MEMLOCK does not allow pinned memory of the
 * host, which is locked memory; hmmErrorOperatingSystem if the process has too
 * many open files (each memory object has a descriptor), or because of its
 * limit for the size of files (ulimit -f).
 *
 * CUDA: has no migratable memory and counts no locked memory, and compression
 * has an effect.
 */
HMM_API hmmError_t hmmMemCreate(hmmMemGenericAllocationHandle* handle, size_t size,
                                const hmmMemAllocationProp* prop, unsigned long long flags);
/*
 * Releases a handle: undoes one hmmMemCreate(), hmmMemRetainAllocationHandle()
 * or hmmMemImportFromShareableHandle(). The memory is freed when no handle, no
 * mapping and no exported descriptor refers to it, in any process.
 */
HMM_API hmmError_t hmmMemRelease(hmmMemGenericAllocationHandle handle);
/*
 * Gets the handle of the memory object that is mapped at @addr, which need not
 * be the start of the mapping; the same value with which it was mapped. It is
 * to be released once more. Also revives a handle that was released while its
 * memory was mapped. hmmErrorInvalidValue if no memory object is mapped there.
 */
HMM_API hmmError_t hmmMemRetainAllocationHandle(hmmMemGenericAllocationHandle* handle, void* addr);
/* Gets what the memory object was created with. */
HMM_API hmmError_t hmmMemGetAllocationPropertiesFromHandle(hmmMemAllocationProp* prop,
                                                           hmmMemGenericAllocationHandle handle);

/*
 * Stores a new descriptor of the memory object in @shareableHandle, which
 * points to an int. The descriptor is closed on exec, and the caller closes it
 * otherwise. Another process that receives it can import the memory object.
 * @flags must be 0. hmmErrorInvalidValue if the memory object was created
 * without this handle type; hmmErrorNotSupported for handle types of other
 * systems; hmmErrorOperatingSystem if the process has too many open files.
 */
HMM_API hmmError_t hmmMemExportToShareableHandle(void* shareableHandle,
                                                 hmmMemGenericAllocationHandle handle,
                                                 hmmMemAllocationHandleType handleType,
                                                 unsigned long long flags);
/*
 * Creates a handle of the memory object of a descriptor: @osHandle is the
 * descriptor, cast to a pointer. The caller still owns the descriptor. Each
 * call returns another handle. hmmErrorInvalidValue if the descriptor is not
 * one of a memory object. Other errors as for hmmMemExportToShareableHandle().
 */
HMM_API hmmError_t hmmMemImportFromShareableHandle(hmmMemGenericAllocationHandle* handle,
                                                   void* osHandle,
                                                   hmmMemAllocationHandleType shHandleType);

/*
 * Reserves addresses: nothing else of the process gets them until they are
 * freed. @alignment: a power of two, or 0; the range is always aligned to the
 * granularity. The range begins at @addr if that is aligned and the addresses
 * are free; otherwise, and with @addr 0, elsewhere. @flags must be 0.
 * hmmErrorMemoryAllocation if there are not enough addresses.
 * hmmErrorInvalidValue for an alignment that is no power of two.
 */
HMM_API hmmError_t hmmMemAddressReserve(hmmDeviceptr* ptr, size_t size, size_t alignment,
                                        hmmDeviceptr addr, unsigned long long flags);
/*
 * Frees a range that hmmMemAddressReserve() returned, as a whole.
 * hmmErrorInvalidValue for another range, and while a part of it is mapped.
 */
HMM_API hmmError_t hmmMemAddressFree(hmmDeviceptr ptr, size_t size);

/*
 * Maps @size bytes of the memory object, from @offset on, at @ptr. No processor
 * may use the mapping until hmmMemSetAccess(). @flags must be 0.
 * hmmErrorInvalidValue if a part of the range is not reserved or already
 * mapped, or beyond the end of the memory object.
 *
 * CUDA: @offset must be 0.
 */
HMM_API hmmError_t hmmMemMap(hmmDeviceptr ptr, size_t size, size_t offset,
                             hmmMemGenericAllocationHandle handle, unsigned long long flags);
/*
 * Unmaps a range; its addresses stay reserved. When the call returns, no device
 * and no CPU can reach the memory through these addresses. The call does not
 * wait for queued work. hmmErrorInvalidValue if a part of the range is not
 * mapped.
 *
 * CUDA: only whole mappings can be unmapped.
 */
HMM_API hmmError_t hmmMemUnmap(hmmDeviceptr ptr, size_t size);

/*
 * Sets what the locations in @desc may do with the memory mapped in a range;
 * all other locations keep their access. Starts the devices that are named.
 * Access of a device ends when that device is reset. For the host, the id and
 * the node are ignored. If a location is named twice, the last element counts.
 * hmmErrorInvalidValue if a part of the range is not mapped, for no elements
 * and for unknown flags; hmmErrorNotSupported if a device, or the CPU, cannot
 * reach this memory.
 *
 * CUDA: the CPU gets no access to memory of a device.
 */
HMM_API hmmError_t hmmMemSetAccess(hmmDeviceptr ptr, size_t size, const hmmMemAccessDesc* desc,
                                   size_t count);
/*
 * Gets what @location may do with the memory that is mapped at @ptr: an
 * hmmMemAccessFlags. hmmErrorInvalidValue if nothing is mapped there.
 */
HMM_API hmmError_t hmmMemGetAccess(unsigned long long* flags, const hmmMemLocation* location,
                                   hmmDeviceptr ptr);

/*
 * Gets start and size of the mapping at @ptr, without parts that were unmapped
 * since; or of the memory that hmmMalloc() or one of its relatives allocated
 * there, rounded up as they do; or of registered memory, which that of
 * hmmHostAlloc() is too. @base or @size may be NULL. hmmErrorSymbolNotFound for
 * other addresses.
 *
 * CUDA: does not round.
 */
HMM_API hmmError_t hmmMemGetAddressRange(hmmDeviceptr* base, size_t* size, hmmDeviceptr ptr);

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_VIRTUAL_MEMORY_H */
