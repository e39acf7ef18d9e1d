/* SPDX-License-Identifier: MIT */
/* Device properties and attributes. hmm_runtime.h includes this file. */
#ifndef HMM_HMM_PROPERTIES_H
#define HMM_HMM_PROPERTIES_H

#include "hmm_types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Properties of a device. A lane corresponds to a CUDA multiprocessor. It runs
 * the threads of a block one after the other: a warp is one thread, and there
 * is no shared memory and no shared register file. Members that do not apply to
 * a simulated device, or have an unknown value, are 0.
 */
typedef struct hmmDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    size_t sharedMemPerBlock; /* 0: not available */
    int regsPerBlock;         /* 0 */
    int warpSize;             /* 1 */
    size_t memPitch;          /* maximum pitch in bytes */
    int maxThreadsPerBlock;   /* not enforced: larger blocks run too */
    int maxThreadsDim[3];     /* not enforced */
    /* not enforced: a grid may have up to 2^64 - 1 threads */
    int maxGridSize[3];
    size_t totalConstMem; /* 0 */
    /* 0.0: no CUDA compute capability */
    int major;
    int minor;               /* 0 */
    int multiProcessorCount; /* number of lanes */
    /* 0: device memory is separate from system memory; 1: the cpu device */
    int integrated;
    int canMapHostMemory; /* 1 */
    /* 0: any number of programs and threads may use it */
    int computeMode;
    int concurrentKernels;        /* 1 */
    int kernelExecTimeoutEnabled; /* 0: kernels have no time limit */
    int ECCEnabled;               /* 0 */
    /* -1: not on a PCI bus; same for the next two */
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;         /* 0 */
    int asyncEngineCount;  /* 0: lanes execute the copies */
    int unifiedAddressing; /* 1 */
    int clockRate;         /* 0: unknown; same for the next three */
    int memoryClockRate;
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;    /* 0 */
    int accessPolicyMaxWindowSize;   /* 0 */
    int maxThreadsPerMultiProcessor; /* as maxThreadsPerBlock */
    int maxBlocksPerMultiProcessor;  /* 1 */
    int streamPrioritiesSupported;   /* 1 */
    /* 1: the caches are those of the CPU */
    int globalL1CacheSupported;
    int localL1CacheSupported;            /* 1 */
    size_t sharedMemPerMultiprocessor;    /* 0 */
    size_t sharedMemPerBlockOptin;        /* 0 */
    size_t reservedSharedMemPerBlock;     /* 0 */
    int regsPerMultiprocessor;            /* 0 */
    int isMultiGpuBoard;                  /* 0 */
    int multiGpuBoardGroupID;             /* the device number */
    int singleToDoublePrecisionPerfRatio; /* 0: unknown */
    int computePreemptionSupported;       /* 0 */
    int cooperativeLaunch;                /* 0 */
    int cooperativeMultiDeviceLaunch;     /* 0 */
    int clusterLaunch;                    /* 0 */
    /* 1: hmmMallocManaged() is supported */
    int managedMemory;
    /* 1: kernels may dereference any valid pointer */
    int pageableMemoryAccess;
    /* 1: CPU and devices may access a page at any time */
    int concurrentManagedAccess;
    /*
     * 1: atomic operations of the CPU and of devices on system memory are
     * atomic with respect to each other
     */
    int hostNativeAtomicSupported;
    /* 1: the CPU accesses pages in device memory without migrating them */
    int directManagedMemAccessFromHost;
    /* 0: the device has its own page tables; 1: the cpu device */
    int pageableMemoryAccessUsesHostPageTables;
    int canUseHostPointerForRegisteredMem; /* 1 */
    /* 1: hmmHostRegister() is supported */
    int hostRegisterSupported;
    /* 1: the flag is accepted and has no effect */
    int hostRegisterReadOnlySupported;
    /* 1: hmmMallocAsync() is supported */
    int memoryPoolsSupported;
    /* 0: pools cannot be shared between processes */
    unsigned int memoryPoolSupportedHandleTypes;
    int ipcEventSupported;                 /* 0 */
    int timelineSemaphoreInteropSupported; /* 0 */
    int gpuDirectRDMASupported;            /* 0 */
    /* nearest NUMA node of the host, -1 if none */
    int hostNumaId;
    size_t pageSize; /* not in CUDA */
    /* not in CUDA: migration never crosses a multiple of this */
    size_t migrationBlockSize;
    int reserved[64];
} hmmDeviceProp;

/*
 * Each attribute is the member of hmmDeviceProp with the same name, as an int.
 * Boolean attributes are 0 or 1.
 */
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
    hmmDevAttrMaxPitch = 11, /* INT_MAX; memPitch may be larger */
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
    /* of CUDA's driver API */
    hmmDevAttrVirtualMemoryManagementSupported = 102,
    hmmDevAttrHandleTypePosixFileDescriptorSupported = 103,
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

/*
 * Gets the properties of a device. Sizes of memory and of blocks are in bytes.
 *
 * CUDA: has no pageSize and no migrationBlockSize; has members for textures,
 * surfaces and the identity of the device.
 */
HMM_API hmmError_t hmmGetDeviceProperties(hmmDeviceProp* prop, int device);
/*
 * Gets one attribute. hmmErrorInvalidValue if @attr is not an hmmDeviceAttr.
 *
 * CUDA: has more attributes, for textures, surfaces and the identity of the
 * device.
 */
HMM_API hmmError_t hmmDeviceGetAttribute(int* value, hmmDeviceAttr attr, int device);

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_PROPERTIES_H */
