/* SPDX-License-Identifier: MIT */
/* What all parts of the C interface use: errors, dimensions, handles, places. */
#ifndef HMM_HMM_TYPES_H
#define HMM_HMM_TYPES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HMM_API __attribute__((visibility("default")))

/* What an argument is in C++ if it is left out; C has to name them all. */
#ifdef __cplusplus
#define HMM_DEFAULT(value) = value
#else
#define HMM_DEFAULT(value)
#endif

/*
 * Values that exist in CUDA have CUDA's number; ours start at 1000. Those marked (-) are here
 * for programs that look for them: no function returns them.
 */
typedef enum hmmError {
    hmmSuccess = 0,
    hmmErrorInvalidValue = 1,
    hmmErrorMemoryAllocation = 2,
    hmmErrorInitializationError = 3,
    hmmErrorInvalidConfiguration = 9,
    hmmErrorInvalidPitchValue = 12, /* rows are longer than the distance between them */
    hmmErrorInvalidMemcpyDirection = 21,
    hmmErrorInsufficientDriver = 35,      /* the modules speak another version */
    hmmErrorDevicesUnavailable = 46,      /* busy, or no permission to open it */
    hmmErrorInvalidDeviceFunction = 98,   /* NULL as a kernel */
    hmmErrorNoDevice = 100,               /* no module loaded, or no device */
    hmmErrorInvalidDevice = 101,          /* no device with this number */
    hmmErrorNoKernelImageForDevice = 209, /* (-) */
    hmmErrorECCUncorrectable = 214,       /* (-) */
    hmmErrorUnsupportedLimit = 215,       /* the device has no such limit */
    hmmErrorDeviceAlreadyInUse = 216,     /* (-) */
    hmmErrorPeerAccessUnsupported = 217,  /* the two devices cannot */
    hmmErrorOperatingSystem = 304,        /* (-) */
    hmmErrorInvalidResourceHandle = 400,  /* no such stream, event or pool, or of another device */
    hmmErrorIllegalState = 401,           /* (-) */
    hmmErrorSymbolNotFound = 500,         /* (-) */
    hmmErrorNotReady = 600,               /* not an error: there is work left */
    hmmErrorIllegalAddress = 700,         /* sticky */
    hmmErrorLaunchOutOfResources = 701,   /* (-) */
    hmmErrorLaunchTimeout = 702,          /* (-) */
    hmmErrorPeerAccessAlreadyEnabled = 704,
    hmmErrorPeerAccessNotEnabled = 705,
    hmmErrorSetOnActiveProcess = 708, /* (-) */
    hmmErrorContextIsDestroyed = 709, /* (-) */
    hmmErrorAssert = 710,             /* sticky: abort() or a fatal signal raised in a kernel */
    hmmErrorTooManyPeers = 711,       /* (-) */
    hmmErrorHostMemoryAlreadyRegistered = 712,
    hmmErrorHostMemoryNotRegistered = 713,
    hmmErrorHardwareStackError = 714,        /* (-) */
    hmmErrorIllegalInstruction = 715,        /* sticky */
    hmmErrorMisalignedAddress = 716,         /* (-) */
    hmmErrorInvalidAddressSpace = 717,       /* (-) */
    hmmErrorInvalidPc = 718,                 /* (-) */
    hmmErrorLaunchFailure = 719,             /* sticky: any other fault in a kernel */
    hmmErrorCooperativeLaunchTooLarge = 720, /* (-) */
    hmmErrorNotPermitted = 800,
    hmmErrorNotSupported = 801,
    hmmErrorSystemNotReady = 802,       /* (-) */
    hmmErrorSystemDriverMismatch = 803, /* (-) */
    hmmErrorUnknown = 999,
    hmmErrorSystemCall = 1000,   /* sticky: a system call that kernels may not make */
    hmmErrorDeviceLost = 1001,   /* sticky: the execution agent is gone */
    hmmErrorForkedProcess = 1002 /* devices do not follow a process through fork() */
} hmmError_t;

/* In C++ what is left out is 1, and a number is a dimension. */
typedef struct hmmDim3 {
    uint32_t x, y, z;
#ifdef __cplusplus
    // NOLINTNEXTLINE(google-explicit-constructor): f(grid, 256) is how such calls are written
    constexpr hmmDim3(uint32_t sizeX = 1, uint32_t sizeY = 1, uint32_t sizeZ = 1) noexcept
        : x(sizeX), y(sizeY), z(sizeZ) {}
#endif
} hmmDim3;

/*
 * Handles. One of a stream or event that is gone, or never was, is an
 * hmmErrorInvalidResourceHandle wherever it is used. 0 is the legacy default stream.
 */
typedef struct hmmStream* hmmStream_t;
typedef struct hmmEvent* hmmEvent_t;

typedef enum hmmMemLocationType {
    hmmMemLocationTypeInvalid = 0,
    hmmMemLocationTypeDevice = 1,         /* id: device number */
    hmmMemLocationTypeHost = 2,           /* id: ignored */
    hmmMemLocationTypeHostNuma = 3,       /* id: node of the host */
    hmmMemLocationTypeHostNumaCurrent = 4 /* the calling thread's node; id: ignored */
} hmmMemLocationType;

/* Where a device number is expected or given: the host, and none. */
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
