/* SPDX-License-Identifier: MIT */
/*
 * The spelling of CUDA's driver API (cuda.h) for types and constants of
 * low-level virtual memory management, with HMM for CU. The functions, hmmMem*
 * for cuMem*, are in hmm_virtual_memory.h. A program is ported by replacing
 * `cuda` and `cu` with `hmm`, and `CUDA` and `CU` with `HMM`.
 */
#ifndef HMM_HMM_H
#define HMM_HMM_H

#include "hmm_runtime.h"

typedef hmmError_t HMMresult;
#define HMM_SUCCESS hmmSuccess
#define HMM_ERROR_INVALID_VALUE hmmErrorInvalidValue
#define HMM_ERROR_OUT_OF_MEMORY hmmErrorMemoryAllocation
#define HMM_ERROR_NO_DEVICE hmmErrorNoDevice
#define HMM_ERROR_INVALID_DEVICE hmmErrorInvalidDevice
#define HMM_ERROR_NOT_INITIALIZED hmmErrorInitializationError
#define HMM_ERROR_NOT_FOUND hmmErrorSymbolNotFound
#define HMM_ERROR_UNKNOWN hmmErrorUnknown
#define HMM_ERROR_INVALID_HANDLE hmmErrorInvalidResourceHandle
#define HMM_ERROR_OPERATING_SYSTEM hmmErrorOperatingSystem
#define HMM_ERROR_ILLEGAL_ADDRESS hmmErrorIllegalAddress
#define HMM_ERROR_NOT_PERMITTED hmmErrorNotPermitted
#define HMM_ERROR_NOT_SUPPORTED hmmErrorNotSupported

/* hmmDeviceGetAttribute() takes them */
typedef hmmDeviceAttr HMMdevice_attribute;
#define HMM_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED                                   \
    hmmDevAttrVirtualMemoryManagementSupported
#define HMM_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED                           \
    hmmDevAttrHandleTypePosixFileDescriptorSupported

typedef hmmDeviceptr HMMdeviceptr;
typedef hmmMemGenericAllocationHandle HMMmemGenericAllocationHandle;

typedef hmmMemLocation HMMmemLocation;
typedef hmmMemLocationType HMMmemLocationType;
#define HMM_MEM_LOCATION_TYPE_INVALID hmmMemLocationTypeInvalid
#define HMM_MEM_LOCATION_TYPE_DEVICE hmmMemLocationTypeDevice
#define HMM_MEM_LOCATION_TYPE_HOST hmmMemLocationTypeHost
#define HMM_MEM_LOCATION_TYPE_HOST_NUMA hmmMemLocationTypeHostNuma
#define HMM_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT hmmMemLocationTypeHostNumaCurrent

typedef hmmMemAllocationType HMMmemAllocationType;
#define HMM_MEM_ALLOCATION_TYPE_INVALID hmmMemAllocationTypeInvalid
#define HMM_MEM_ALLOCATION_TYPE_PINNED hmmMemAllocationTypePinned
#define HMM_MEM_ALLOCATION_TYPE_MANAGED hmmMemAllocationTypeManaged

typedef hmmMemAllocationHandleType HMMmemAllocationHandleType;
#define HMM_MEM_HANDLE_TYPE_NONE hmmMemHandleTypeNone
#define HMM_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR hmmMemHandleTypePosixFileDescriptor
#define HMM_MEM_HANDLE_TYPE_WIN32 hmmMemHandleTypeWin32
#define HMM_MEM_HANDLE_TYPE_WIN32_KMT hmmMemHandleTypeWin32Kmt
#define HMM_MEM_HANDLE_TYPE_FABRIC hmmMemHandleTypeFabric

typedef hmmMemAllocationProp HMMmemAllocationProp;
#define HMM_MEM_ALLOCATION_COMP_NONE hmmMemAllocationCompressionNone
#define HMM_MEM_ALLOCATION_COMP_GENERIC hmmMemAllocationCompressionGeneric

typedef hmmMemAllocationGranularity HMMmemAllocationGranularity_flags;
#define HMM_MEM_ALLOC_GRANULARITY_MINIMUM hmmMemAllocationGranularityMinimum
#define HMM_MEM_ALLOC_GRANULARITY_RECOMMENDED hmmMemAllocationGranularityRecommended

typedef hmmMemAccessDesc HMMmemAccessDesc;
typedef hmmMemAccessFlags HMMmemAccess_flags;
#define HMM_MEM_ACCESS_FLAGS_PROT_NONE hmmMemAccessFlagsProtNone
#define HMM_MEM_ACCESS_FLAGS_PROT_READ hmmMemAccessFlagsProtRead
#define HMM_MEM_ACCESS_FLAGS_PROT_READWRITE hmmMemAccessFlagsProtReadWrite

#endif /* HMM_HMM_H */
