/* SPDX-License-Identifier: MIT */
/* Types of HIP's runtime interface. Handles are CUDA's, and numbers of errors are HIP's. */
#ifndef HMM_CUDA_HIP_TYPES_H
#define HMM_CUDA_HIP_TYPES_H

#include "../cuda_runtime_api.h"

/* The platform with warps of 32 threads. */
#ifndef __HIP_PLATFORM_NVIDIA__
#define __HIP_PLATFORM_NVIDIA__ 1
#endif
#ifdef __CUDACC__
#ifndef __HIPCC__
#define __HIPCC__ 1
#endif
#ifdef __CUDA_ARCH__
#define __HIP_DEVICE_COMPILE__ 1
#endif
#endif

#define HIP_VERSION_MAJOR 6
#define HIP_VERSION_MINOR 0
#define HIP_VERSION_PATCH 0
#define HIP_VERSION 60000000

/* ---- errors ----------------------------------------------------------- */

typedef enum hipError_t {
#define HMM_HIP_ERROR(name, number) hipError##name = (number),
#include "hip_error_list.h"
#undef HMM_HIP_ERROR
    hipSuccess = 0,
    /* other names of the same errors */
    hipErrorMemoryAllocation = hipErrorOutOfMemory,
    hipErrorInitializationError = hipErrorNotInitialized,
    hipErrorMapBufferObjectFailed = hipErrorMapFailed,
    hipErrorInvalidResourceHandle = hipErrorInvalidHandle
} hipError_t;

/* ---- handles and functions -------------------------------------------- */

typedef cudaStream_t hipStream_t;
typedef cudaEvent_t hipEvent_t;
typedef int hipDevice_t;
typedef void* hipDeviceptr_t;
typedef cudaHostFn_t hipHostFn_t;
typedef void (*hipStreamCallback_t)(hipStream_t stream, hipError_t status, void* userData);

#define hipStreamPerThread cudaStreamPerThread
#define hipStreamLegacy cudaStreamLegacy

/* ---- flags ------------------------------------------------------------ */

#define hipStreamDefault 0x00
#define hipStreamNonBlocking 0x01

#define hipEventDefault 0x00
#define hipEventBlockingSync 0x01
#define hipEventDisableTiming 0x02
#define hipEventInterprocess 0x04
/* without effect */
#define hipEventDisableSystemFence 0x20000000
#define hipEventReleaseToDevice 0x40000000
#define hipEventReleaseToSystem 0x80000000

#define hipHostMallocDefault 0x00
#define hipHostMallocPortable 0x01
#define hipHostMallocMapped 0x02
#define hipHostMallocWriteCombined 0x04
/* without effect */
#define hipHostMallocNumaUser 0x20000000
#define hipHostMallocCoherent 0x40000000
#define hipHostMallocNonCoherent 0x80000000

#define hipHostAllocDefault 0x00
#define hipHostAllocPortable 0x01
#define hipHostAllocMapped 0x02
#define hipHostAllocWriteCombined 0x04

#define hipHostRegisterDefault 0x00
#define hipHostRegisterPortable 0x01
#define hipHostRegisterMapped 0x02
#define hipHostRegisterIoMemory 0x04
#define hipHostRegisterReadOnly 0x08

#define hipMemAttachGlobal 0x01
#define hipMemAttachHost 0x02
#define hipMemAttachSingle 0x04

#define hipDeviceScheduleAuto 0x00
#define hipDeviceScheduleSpin 0x01
#define hipDeviceScheduleYield 0x02
#define hipDeviceScheduleBlockingSync 0x04
#define hipDeviceScheduleMask 0x07
#define hipDeviceMapHost 0x08

#define hipOccupancyDefault 0x00
#define hipOccupancyDisableCachingOverride 0x01

#define hipCpuDeviceId ((int)-1)
#define hipInvalidDeviceId ((int)-2)

/* ---- memory ----------------------------------------------------------- */

typedef enum hipMemcpyKind {
    hipMemcpyHostToHost = 0,
    hipMemcpyHostToDevice = 1,
    hipMemcpyDeviceToHost = 2,
    hipMemcpyDeviceToDevice = 3,
    hipMemcpyDefault = 4
} hipMemcpyKind;

typedef enum hipMemoryAdvise {
    hipMemAdviseSetReadMostly = 1,
    hipMemAdviseUnsetReadMostly = 2,
    hipMemAdviseSetPreferredLocation = 3,
    hipMemAdviseUnsetPreferredLocation = 4,
    hipMemAdviseSetAccessedBy = 5,
    hipMemAdviseUnsetAccessedBy = 6,
    /* without effect */
    hipMemAdviseSetCoarseGrain = 100,
    hipMemAdviseUnsetCoarseGrain = 101
} hipMemoryAdvise;

typedef enum hipMemRangeAttribute {
    hipMemRangeAttributeReadMostly = 1,
    hipMemRangeAttributePreferredLocation = 2,
    hipMemRangeAttributeAccessedBy = 3,
    hipMemRangeAttributeLastPrefetchLocation = 4
} hipMemRangeAttribute;

typedef enum hipMemoryType {
    hipMemoryTypeUnregistered = 0,
    hipMemoryTypeHost = 1,
    hipMemoryTypeDevice = 2,
    hipMemoryTypeManaged = 3
} hipMemoryType;

typedef struct hipPointerAttribute_t {
    enum hipMemoryType type;
    int device;
    void* devicePointer;
    void* hostPointer;
    int isManaged;
    unsigned int allocationFlags;
} hipPointerAttribute_t;

/* ---- devices and kernels ---------------------------------------------- */

typedef struct hipUUID_t {
    char bytes[16];
} hipUUID;

/* What programs for other devices ask for. */
typedef struct hipDeviceArch_t {
    unsigned hasGlobalInt32Atomics : 1;
    unsigned hasSharedInt32Atomics : 1;
    unsigned hasFloatAtomicAdd : 1;
    unsigned hasGlobalInt64Atomics : 1;
    unsigned hasSharedInt64Atomics : 1;
    unsigned hasDoubles : 1;
    unsigned hasWarpVote : 1;
    unsigned hasWarpBallot : 1;
    unsigned hasWarpShuffle : 1;
    unsigned hasThreadFenceSystem : 1;
    unsigned hasSyncThreadsExt : 1;
    unsigned has3dGrid : 1;
} hipDeviceArch_t;

typedef struct hipDeviceProp_t {
    char name[256];
    hipUUID uuid;
#define HMM_HIP_PROPERTY(type, name) type name;
#include "hip_property_list.h"
#undef HMM_HIP_PROPERTY
    int maxThreadsDim[3];
    int maxGridSize[3];
    /* HIP's own */
    size_t maxSharedMemoryPerMultiProcessor;
    int clockInstructionRate;
    hipDeviceArch_t arch;
    char gcnArchName[256]; /* empty */
    int isLargeBar;
} hipDeviceProp_t;

typedef enum hipDeviceAttribute_t {
#define HMM_HIP_ATTRIBUTE(name, cudaName) hipDeviceAttribute##name,
#include "hip_attribute_list.h"
#undef HMM_HIP_ATTRIBUTE
    hipDeviceAttributeMaxSharedMemoryPerMultiprocessor =
        hipDeviceAttributeSharedMemPerMultiprocessor
} hipDeviceAttribute_t;

enum hipLimit_t { hipLimitStackSize = 0, hipLimitPrintfFifoSize = 1, hipLimitMallocHeapSize = 2 };

typedef enum hipFuncCache_t {
    hipFuncCachePreferNone = 0,
    hipFuncCachePreferShared = 1,
    hipFuncCachePreferL1 = 2,
    hipFuncCachePreferEqual = 3
} hipFuncCache_t;

typedef enum hipFuncAttribute {
    hipFuncAttributeMaxDynamicSharedMemorySize = 8,
    hipFuncAttributePreferredSharedMemoryCarveout = 9
} hipFuncAttribute;

typedef struct hipFuncAttributes {
    int binaryVersion;
    int cacheModeCA;
    size_t constSizeBytes;
    size_t localSizeBytes;
    int maxDynamicSharedSizeBytes;
    int maxThreadsPerBlock;
    int numRegs;
    int preferredShmemCarveout;
    int ptxVersion;
    size_t sharedSizeBytes;
} hipFuncAttributes;

#endif /* HMM_CUDA_HIP_TYPES_H */
