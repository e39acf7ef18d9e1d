/* SPDX-License-Identifier: MIT */
/*
 * Types shared by all parts of the C interface: errors, dimensions, handles,
 * memory locations.
 */
#ifndef HMM_HMM_TYPES_H
#define HMM_HMM_TYPES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HMM_API __attribute__((visibility("default")))

/*
 * Default argument in C++. C has no default arguments: a C caller passes every
 * argument.
 */
#ifdef __cplusplus
#define HMM_DEFAULT(value) = value
#else
#define HMM_DEFAULT(value)
#endif

/*
 * Errors that exist in CUDA have CUDA's number. Errors that only hmmrt has
 * start at 1000. No function returns the errors marked (-); they are defined
 * for programs that name them.
 */
typedef enum hmmError {
    hmmSuccess = 0,
    hmmErrorInvalidValue = 1,
    hmmErrorMemoryAllocation = 2,
    hmmErrorInitializationError = 3,
    hmmErrorInvalidConfiguration = 9,
    /* the pitch is less than the width of a row */
    hmmErrorInvalidPitchValue = 12,
    hmmErrorInvalidMemcpyDirection = 21,
    /* the loaded modules have another version */
    hmmErrorInsufficientDriver = 35,
    /* device busy, or no permission to open it */
    hmmErrorDevicesUnavailable = 46,
    hmmErrorInvalidDeviceFunction = 98,   /* the kernel function is NULL */
    hmmErrorNoDevice = 100,               /* no module loaded, or no device */
    hmmErrorInvalidDevice = 101,          /* no device with this number */
    hmmErrorNoKernelImageForDevice = 209, /* (-) */
    hmmErrorECCUncorrectable = 214,       /* (-) */
    hmmErrorUnsupportedLimit = 215,       /* the device has no such limit */
    hmmErrorDeviceAlreadyInUse = 216,     /* (-) */
    /* these two devices cannot access each other */
    hmmErrorPeerAccessUnsupported = 217,
    /* the process has too many open files */
    hmmErrorOperatingSystem = 304,
    /*
     * no such stream, event, pool or memory object, or it belongs to another
     * device
     */
    hmmErrorInvalidResourceHandle = 400,
    hmmErrorIllegalState = 401, /* (-) */
    /* nothing is mapped or allocated at this address */
    hmmErrorSymbolNotFound = 500,
    /* not an error: work is still queued or running */
    hmmErrorNotReady = 600,
    hmmErrorIllegalAddress = 700,       /* sticky */
    hmmErrorLaunchOutOfResources = 701, /* (-) */
    /* sticky: a launch took longer than HMMRT_LAUNCH_TIMEOUT */
    hmmErrorLaunchTimeout = 702,
    hmmErrorPeerAccessAlreadyEnabled = 704,
    hmmErrorPeerAccessNotEnabled = 705,
    hmmErrorSetOnActiveProcess = 708, /* (-) */
    hmmErrorContextIsDestroyed = 709, /* (-) */
    /* sticky: the kernel called abort(), raised a fatal signal or threw */
    hmmErrorAssert = 710,
    hmmErrorTooManyPeers = 711, /* (-) */
    hmmErrorHostMemoryAlreadyRegistered = 712,
    hmmErrorHostMemoryNotRegistered = 713,
    hmmErrorHardwareStackError = 714,  /* (-) */
    hmmErrorIllegalInstruction = 715,  /* sticky */
    hmmErrorMisalignedAddress = 716,   /* (-) */
    hmmErrorInvalidAddressSpace = 717, /* (-) */
    hmmErrorInvalidPc = 718,           /* (-) */
    /* sticky: any other fault in a kernel */
    hmmErrorLaunchFailure = 719,
    hmmErrorCooperativeLaunchTooLarge = 720, /* (-) */
    hmmErrorNotPermitted = 800,
    hmmErrorNotSupported = 801,
    hmmErrorSystemNotReady = 802,       /* (-) */
    hmmErrorSystemDriverMismatch = 803, /* (-) */
    hmmErrorUnknown = 999,
    /* sticky: the kernel made a system call that kernels may not make */
    hmmErrorSystemCall = 1000,
    hmmErrorDeviceLost = 1001, /* sticky: the execution agent has ended */
    /* a fork()ed child cannot use the devices of its parent */
    hmmErrorForkedProcess = 1002
} hmmError_t;

/*
 * Grid or block dimensions. In C++ omitted dimensions are 1, and an integer
 * converts to hmmDim3.
 */
typedef struct hmmDim3 {
    uint32_t x, y, z;
#ifdef __cplusplus
    // Callers pass plain integers: f(grid, 256).
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr hmmDim3(uint32_t sizeX = 1, uint32_t sizeY = 1, uint32_t sizeZ = 1) noexcept
        : x(sizeX), y(sizeY), z(sizeZ) {}
#endif
} hmmDim3;

/*
 * Handles of streams and events. A function that gets a handle of a destroyed
 * stream or event, or a value that never was a handle, returns
 * hmmErrorInvalidResourceHandle. 0 is the legacy default stream.
 */
typedef struct hmmStream* hmmStream_t;
typedef struct hmmEvent* hmmEvent_t;

typedef enum hmmMemLocationType {
    hmmMemLocationTypeInvalid = 0,
    hmmMemLocationTypeDevice = 1,   /* id: device number */
    hmmMemLocationTypeHost = 2,     /* id: ignored */
    hmmMemLocationTypeHostNuma = 3, /* id: NUMA node of the host */
    /* the calling thread's NUMA node; id: ignored */
    hmmMemLocationTypeHostNumaCurrent = 4
} hmmMemLocationType;

/* Special values in place of a device number: the CPU, and no device. */
#define hmmCpuDeviceId (-1)
#define hmmInvalidDeviceId (-2)

typedef struct hmmMemLocation {
    hmmMemLocationType type;
    int id;
} hmmMemLocation;

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_TYPES_H */
