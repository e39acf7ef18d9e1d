/* SPDX-License-Identifier: MIT */
/* What all parts of the C interface use: errors, dimensions, handles, places. */
#ifndef HMM_HMM_TYPES_H
#define HMM_HMM_TYPES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HMM_API __attribute__((visibility("default")))

/* Values that exist in CUDA have CUDA's number; ours start at 1000. */
typedef enum hmmError {
    hmmSuccess = 0,
    hmmErrorInvalidValue = 1,
    hmmErrorMemoryAllocation = 2,
    hmmErrorInitializationError = 3,
    hmmErrorInvalidConfiguration = 9,
    hmmErrorInvalidMemcpyDirection = 21,
    hmmErrorInsufficientDriver = 35,     /* the modules speak another version */
    hmmErrorDevicesUnavailable = 46,     /* busy, or no permission to open it */
    hmmErrorNoDevice = 100,              /* no module loaded, or no device */
    hmmErrorInvalidDevice = 101,         /* no device with this number */
    hmmErrorPeerAccessUnsupported = 217, /* the two devices cannot */
    hmmErrorInvalidResourceHandle = 400, /* no such stream or event, or of another device */
    hmmErrorNotReady = 600,              /* not an error: there is work left */
    hmmErrorIllegalAddress = 700,        /* sticky */
    hmmErrorPeerAccessAlreadyEnabled = 704,
    hmmErrorPeerAccessNotEnabled = 705,
    hmmErrorAssert = 710, /* sticky: abort() or a fatal signal raised in a kernel */
    hmmErrorHostMemoryAlreadyRegistered = 712,
    hmmErrorHostMemoryNotRegistered = 713,
    hmmErrorIllegalInstruction = 715, /* sticky */
    hmmErrorLaunchFailure = 719,      /* sticky: any other fault in a kernel */
    hmmErrorNotPermitted = 800,
    hmmErrorNotSupported = 801,
    hmmErrorUnknown = 999,
    hmmErrorSystemCall = 1000,   /* sticky: a system call that kernels may not make */
    hmmErrorDeviceLost = 1001,   /* sticky: the execution agent is gone */
    hmmErrorForkedProcess = 1002 /* devices do not follow a process through fork() */
} hmmError_t;

typedef struct hmmDim3 {
    uint32_t x, y, z;
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
