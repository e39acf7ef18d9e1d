/* SPDX-License-Identifier: MIT */
/*
 * hmmrt: the C interface, usable from C and C++.
 *
 * Names and meanings follow CUDA's runtime with `hmm` for `cuda`, so that a
 * unified-memory program ports by search and replace. What differs: device
 * code is native code of this very program, so every pointer that is valid on
 * the CPU is valid in a kernel (heap, stack, globals, mapped files), and so is
 * every function pointer.
 *
 * Work is queued per device in launch order (the default stream) and runs
 * asynchronously; hmmDeviceSynchronize() waits for it. A kernel that fails
 * (illegal address, abort, ...) ends its launch, not the program: the device
 * keeps the error (it is *sticky*) until hmmDeviceReset(). Locks that the
 * kernel held then, malloc's included, are left as they were.
 *
 * Errors: every function returns one, and remembers it for the calling thread
 * (hmmGetLastError). hmmGetLastErrorDetail() says in words what went wrong.
 *
 * Calls from inside a kernel return hmmErrorNotSupported, calls in a fork()ed
 * child of a process that had used a device return hmmErrorForkedProcess.
 */
#ifndef HMM_HMM_RUNTIME_H
#define HMM_HMM_RUNTIME_H

#include <stddef.h>
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
    hmmErrorInsufficientDriver = 35, /* the modules speak another version */
    hmmErrorDevicesUnavailable = 46, /* busy, or no permission to open it */
    hmmErrorNoDevice = 100,          /* no module loaded, or no device */
    hmmErrorInvalidDevice = 101,     /* no device with this number */
    hmmErrorInvalidResourceHandle = 400,
    hmmErrorIllegalAddress = 700,     /* sticky */
    hmmErrorAssert = 710,             /* sticky: abort() or a fatal signal raised in a kernel */
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

/* Queues of work. Only the default stream, 0, exists so far. */
typedef struct hmmStream* hmmStream_t;

typedef enum hmmMemLocationType {
    hmmMemLocationTypeInvalid = 0,
    hmmMemLocationTypeDevice = 1, /* id: device number */
    hmmMemLocationTypeHost = 2    /* id: ignored */
} hmmMemLocationType;

typedef struct hmmMemLocation {
    hmmMemLocationType type;
    int id;
} hmmMemLocation;

typedef struct hmmDeviceProp {
    char name[32];
    size_t totalGlobalMem;
    size_t pageSize;
    size_t migrationBlockSize;     /* migration never crosses a multiple of this */
    int multiProcessorCount;       /* lanes: kernels running at the same time */
    int hostNumaNode;              /* nearest node of the host, -1 if none */
    int pageableMemoryAccess;      /* 1: kernels may follow any pointer */
    int concurrentManagedAccess;   /* 1: CPU and device may touch a page in turns at any time */
    int hostNativeAtomicSupported; /* 1: atomic operations of CPU and device on host memory are so
                                      to each other */
    /* 1: the CPU uses pages that are on the device where they are, and does not bring them home */
    int directManagedMemAccessFromHost;
} hmmDeviceProp;

/* ---- devices ---------------------------------------------------------- */

HMM_API hmmError_t hmmGetDeviceCount(int* count);
/* The calling thread's device for all that follows; 0 at first. */
HMM_API hmmError_t hmmSetDevice(int device);
HMM_API hmmError_t hmmGetDevice(int* device);
HMM_API hmmError_t hmmGetDeviceProperties(hmmDeviceProp* prop, int device);
/* Device memory of the current device, all processes together. */
HMM_API hmmError_t hmmMemGetInfo(size_t* free_bytes, size_t* total_bytes);
/* Waits until all work queued on the current device is done. */
HMM_API hmmError_t hmmDeviceSynchronize(void);
/*
 * Ends whatever runs on the current device, brings its memory home and forgets
 * a sticky error. The next launch starts afresh.
 */
HMM_API hmmError_t hmmDeviceReset(void);

/* ---- kernels ---------------------------------------------------------- */

typedef struct hmmThreadIndex {
    hmmDim3 threadIdx, blockIdx, blockDim, gridDim;
} hmmThreadIndex;

/*
 * A kernel, called once for each thread of the grid. `args` is the copy that
 * hmmLaunchKernel() made of the caller's arguments.
 *
 *     struct scale_args { float *data; float factor; };
 *     static void scale(const hmmThreadIndex *index, void *args)
 *     {
 *         struct scale_args *a = args;
 *         size_t i = (size_t)index->blockIdx.x * index->blockDim.x + index->threadIdx.x;
 *         a->data[i] *= a->factor;
 *     }
 *     ...
 *     struct scale_args a = {data, 2.0f};
 *     hmmLaunchKernel(scale, (hmmDim3){n / 256, 1, 1}, (hmmDim3){256, 1, 1}, &a, sizeof(a), 0);
 */
typedef void (*hmmKernel_t)(const hmmThreadIndex* index, void* args);

/*
 * Queues kernel(index, args) for all threads of all blocks. @argsBytes bytes at
 * @args are copied now; with @argsBytes 0 the pointer itself is handed on. There
 * is no barrier between the threads of a block.
 */
HMM_API hmmError_t hmmLaunchKernel(hmmKernel_t kernel, hmmDim3 gridDim, hmmDim3 blockDim,
                                   const void* args, size_t argsBytes, hmmStream_t stream);

/* Runs items [begin, end) of a range. */
typedef void (*hmmRangeFunction_t)(void* closure, uint64_t begin, uint64_t end);
/* Called on the CPU, after the launch, by some thread inside an hmm call. */
typedef void (*hmmDestroyFunction_t)(void* closure);

/*
 * Queues fn over [0, count), in pieces on all lanes. If @destroy is not NULL it
 * is called with @closure once, when the launch is over; if the call itself
 * fails, the closure stays the caller's.
 */
HMM_API hmmError_t hmmLaunchRange(hmmRangeFunction_t fn, void* closure, uint64_t count,
                                  hmmDestroyFunction_t destroy, hmmStream_t stream);

/*
 * Memory for closures, aligned to 64 bytes; NULL if there is none. Small ones stay
 * where both sides reach them: a closure on the heap would travel at each launch.
 */
HMM_API void* hmmClosureAllocate(size_t bytes);
HMM_API void hmmClosureFree(void* closure);

/*
 * Strict mode: a kernel that makes a system call fails with
 * hmmErrorSystemCall, as a GPU would refuse it. Off by default; on if
 * HMMRT_STRICT=1 is set or the program runs under seccomp.
 */
HMM_API hmmError_t hmmSetStrict(int strict);

/* ---- memory ----------------------------------------------------------- */

/*
 * Moves the pages of [ptr, ptr + bytes), widened to whole pages, when the work
 * queued before is done. Best effort: what cannot move (files, shared or
 * pinned memory) stays, and device accesses work all the same. @flags must be 0.
 */
HMM_API hmmError_t hmmMemPrefetchAsync(const void* ptr, size_t bytes, hmmMemLocation location,
                                       unsigned int flags, hmmStream_t stream);

/* ---- errors ----------------------------------------------------------- */

#define HMM_ACCESS_READ 0x1u
#define HMM_ACCESS_WRITE 0x2u
#define HMM_ACCESS_EXEC 0x4u

/* What a kernel did that ended its launch. */
typedef struct hmmFaultRecord {
    hmmError_t error; /* hmmSuccess: no fault so far */
    int device;
    int lane;
    int signal;       /* the signal a CPU thread would have got: SIGSEGV, ... */
    int access;       /* HMM_ACCESS_* the instruction wanted, 0 if not a memory access */
    int error_number; /* errno: EFAULT nothing mapped, EACCES no permission, ... */
    int system_call;  /* number of the refused call, -1 if that is not the cause */
    int reserved;
    uint64_t address;     /* of the access */
    uint64_t instruction; /* address of the instruction */
    uint64_t first_item;  /* the failing item is in the piece */
    uint64_t item_count;  /*   [first_item, first_item + item_count) */
} hmmFaultRecord;

/* The calling thread's last error; resets it unless it is sticky. */
HMM_API hmmError_t hmmGetLastError(void);
HMM_API hmmError_t hmmPeekAtLastError(void);
/* "hmmErrorIllegalAddress"; never NULL. */
HMM_API const char* hmmGetErrorName(hmmError_t error);
/* One sentence; never NULL. */
HMM_API const char* hmmGetErrorString(hmmError_t error);
/* The last failed call of this thread in words, valid until its next hmm call. */
HMM_API const char* hmmGetLastErrorDetail(void);
/* The record behind the current device's sticky error. */
HMM_API hmmError_t hmmGetLastFault(hmmFaultRecord* record);

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_RUNTIME_H */
