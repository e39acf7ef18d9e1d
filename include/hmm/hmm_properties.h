/* SPDX-License-Identifier: MIT */
/* What a device is like; hmm_runtime.h includes it. */
#ifndef HMM_HMM_PROPERTIES_H
#define HMM_HMM_PROPERTIES_H

#include "hmm_types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a device is like. A lane is what CUDA calls a multiprocessor; it runs one thread of a
 * block after the other, so a warp is one thread, and there is no shared memory and there are
 * no registers to share. Numbers that a simulated device has none of, or that are not known, are 0.
 */
typedef struct hmmDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;     /* 0: there is none */
    int regsPerBlock;             /* 0 */
    int warpSize;                 /* 1 */
    size_t memPitch;              /* greatest distance between rows */
    int maxThreadsPerBlock;       /* more work as well, but no program needs them */
    int maxThreadsDim[3];         /* likewise */
    int maxGridSize[3];           /* likewise: grids are bounded by 2^64 threads */
    size_t totalConstMem;         /* 0 */
    int major;                    /* 0.0: it is none of the devices that CUDA numbers; */
    int minor;                    /*   what it can, the other members say */
    int multiProcessorCount;      /* lanes: kernels running at the same time */
    int integrated;               /* 0: device memory is not the host's */
    int canMapHostMemory;         /* 1 */
    int computeMode;              /* 0: any number of programs and threads use it */
    int concurrentKernels;        /* 1 */
    int kernelExecTimeoutEnabled; /* 0: kernels may run for ever */
    int ECCEnabled;               /* 0 */
    int pciBusID;                 /* -1: it is on no bus; likewise the next two */
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;         /* 0 */
    int asyncEngineCount;  /* 0: lanes make the copies */
    int unifiedAddressing; /* 1 */
    int clockRate;         /* 0: not known; likewise the next three */
    int memoryClockRate;
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;         /* 0 */
    int accessPolicyMaxWindowSize;        /* 0 */
    int maxThreadsPerMultiProcessor;      /* as maxThreadsPerBlock */
    int maxBlocksPerMultiProcessor;       /* 1 */
    int streamPrioritiesSupported;        /* 1 */
    int globalL1CacheSupported;           /* 1: the caches are a processor's */
    int localL1CacheSupported;            /* 1 */
    size_t sharedMemPerMultiprocessor;    /* 0 */
    size_t sharedMemPerBlockOptin;        /* 0 */
    size_t reservedSharedMemPerBlock;     /* 0 */
    int regsPerMultiprocessor;            /* 0 */
    int isMultiGpuBoard;                  /* 0 */
    int multiGpuBoardGroupID;             /* the device's number */
    int singleToDoublePrecisionPerfRatio; /* 0: not known */
    int computePreemptionSupported;       /* 0 */
    int cooperativeLaunch;                /* 0 */
    int cooperativeMultiDeviceLaunch;     /* 0 */
    int clusterLaunch;                    /* 0 */
    int managedMemory;                    /* 1: hmmMallocManaged() works */
    int pageableMemoryAccess;             /* 1: kernels may follow any pointer */
    int concurrentManagedAccess; /* 1: CPU and device may touch a page in turns at any time */
    /* 1: atomic operations of CPU and device on host memory are so to each other */
    int hostNativeAtomicSupported;
    /* 1: the CPU uses pages that are on the device where they are, and does not bring them home */
    int directManagedMemAccessFromHost;
    int pageableMemoryAccessUsesHostPageTables;  /* 0: the device has page tables of its own */
    int canUseHostPointerForRegisteredMem;       /* 1 */
    int hostRegisterSupported;                   /* 1: hmmHostRegister() works */
    int hostRegisterReadOnlySupported;           /* 1: that flag is taken, and changes nothing */
    int memoryPoolsSupported;                    /* 1: hmmMallocAsync() works */
    unsigned int memoryPoolSupportedHandleTypes; /* 0: pools are this process's alone */
    int ipcEventSupported;                       /* 0 */
    int timelineSemaphoreInteropSupported;       /* 0 */
    int gpuDirectRDMASupported;                  /* 0 */
    int hostNumaId;                              /* nearest node of the host, -1 if none */
    size_t pageSize;                             /* not in CUDA */
    size_t migrationBlockSize; /* not in CUDA: migration never crosses a multiple of this */
    int reserved[64];
} hmmDeviceProp;

/* Each is a number; those that say whether, 0 or 1: what the member of that name is. */
typedef enum hmmDeviceAttr {
    hmmDevAttrMaxThreadsPerBlock = 1,
    hmmDevAttrMaxBlockDimX = 2,
    hmmDevAttrMaxBlockDimY = 3,
    hmmDevAttrMaxBlockDimZ = 4,
    hmmDevAttrMaxGridDimX = 5,
    hmmDevAttrMaxGridDimY = 6,
    hmmDevAttrMaxGridDimZ = 7,
    hmmDevAttrMaxSharedMemoryPerBlock = 8,
    hmmDevAttrTotalConstantMemory = 9,
    hmmDevAttrWarpSize = 10,
    hmmDevAttrMaxPitch = 11, /* INT_MAX, which says less than memPitch */
    hmmDevAttrMaxRegistersPerBlock = 12,
    hmmDevAttrClockRate = 13,
    hmmDevAttrMultiProcessorCount = 16, /* lanes */
    hmmDevAttrKernelExecTimeout = 17,
    hmmDevAttrIntegrated = 18,
    hmmDevAttrCanMapHostMemory = 19,
    hmmDevAttrComputeMode = 20,
    hmmDevAttrConcurrentKernels = 31,
    hmmDevAttrEccEnabled = 32,
    hmmDevAttrPciBusId = 33,
    hmmDevAttrPciDeviceId = 34,
    hmmDevAttrTccDriver = 35,
    hmmDevAttrMemoryClockRate = 36,
    hmmDevAttrGlobalMemoryBusWidth = 37,
    hmmDevAttrL2CacheSize = 38,
    hmmDevAttrMaxThreadsPerMultiProcessor = 39,
    hmmDevAttrAsyncEngineCount = 40,
    hmmDevAttrUnifiedAddressing = 41,
    hmmDevAttrPciDomainId = 50,
    hmmDevAttrComputeCapabilityMajor = 75,
    hmmDevAttrComputeCapabilityMinor = 76,
    hmmDevAttrStreamPrioritiesSupported = 78,
    hmmDevAttrGlobalL1CacheSupported = 79,
    hmmDevAttrLocalL1CacheSupported = 80,
    hmmDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    hmmDevAttrMaxRegistersPerMultiprocessor = 82,
    hmmDevAttrManagedMemory = 83,
    hmmDevAttrIsMultiGpuBoard = 84,
    hmmDevAttrMultiGpuBoardGroupID = 85,
    hmmDevAttrHostNativeAtomicSupported = 86,
    hmmDevAttrSingleToDoublePrecisionPerfRatio = 87,
    hmmDevAttrPageableMemoryAccess = 88,
    hmmDevAttrConcurrentManagedAccess = 89,
    hmmDevAttrComputePreemptionSupported = 90,
    hmmDevAttrCanUseHostPointerForRegisteredMem = 91,
    hmmDevAttrCooperativeLaunch = 95,
    hmmDevAttrCooperativeMultiDeviceLaunch = 96,
    hmmDevAttrMaxSharedMemoryPerBlockOptin = 97,
    hmmDevAttrHostRegisterSupported = 99,
    hmmDevAttrPageableMemoryAccessUsesHostPageTables = 100,
    hmmDevAttrDirectManagedMemAccessFromHost = 101,
    hmmDevAttrMaxBlocksPerMultiprocessor = 106,
    hmmDevAttrMaxPersistingL2CacheSize = 108,
    hmmDevAttrMaxAccessPolicyWindowSize = 109,
    hmmDevAttrReservedSharedMemoryPerBlock = 111,
    hmmDevAttrHostRegisterReadOnlySupported = 113,
    hmmDevAttrTimelineSemaphoreInteropSupported = 114,
    hmmDevAttrMemoryPoolsSupported = 115,
    hmmDevAttrGPUDirectRDMASupported = 116,
    hmmDevAttrMemoryPoolSupportedHandleTypes = 119,
    hmmDevAttrClusterLaunch = 120,
    hmmDevAttrIpcEventSupport = 125,
    hmmDevAttrHostNumaId = 134
} hmmDeviceAttr;

HMM_API hmmError_t hmmGetDeviceProperties(hmmDeviceProp* prop, int device);
/* One of them. hmmErrorInvalidValue for an @attr that is none of the above. */
HMM_API hmmError_t hmmDeviceGetAttribute(int* value, hmmDeviceAttr attr, int device);

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_PROPERTIES_H */
