/* SPDX-License-Identifier: MIT */
/* Copies and fills of rows and boxes. hmm_runtime.h includes this file. */
#ifndef HMM_HMM_COPY_H
#define HMM_HMM_COPY_H

#include "hmm_types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Direction of a copy. A copy may read and write any memory, whatever the
 * direction: that says when the program may use the host's side again, see
 * hmmMemcpyAsync().
 */
typedef enum hmmMemcpyKind {
    hmmMemcpyHostToHost = 0,
    hmmMemcpyHostToDevice = 1,
    hmmMemcpyDeviceToHost = 2,
    hmmMemcpyDeviceToDevice = 3,
    hmmMemcpyDefault = 4
} hmmMemcpyKind;

/* ---- rows ------------------------------------------------------------- */

/*
 * Allocates memory for @height rows of @width bytes with hmmMalloc(). Rows
 * start @pitch bytes apart, a multiple of 512. If @width or @height is 0,
 * returns success, NULL and a pitch of 0. hmmErrorInvalidValue for a size that
 * exceeds the address space.
 *
 * CUDA: the pitch is a multiple of another number.
 */
HMM_API hmmError_t hmmMallocPitch(void** memory, size_t* pitch, size_t width, size_t height);
/*
 * Queues a copy of @height rows of @width bytes, as hmmMemcpyAsync() does. Rows
 * start @toPitch and @fromPitch bytes apart. hmmErrorInvalidPitchValue for a
 * pitch below @width; hmmErrorInvalidValue for rows that exceed the address
 * space. The pitch of a single row may be 0; others below @width are
 * hmmErrorInvalidValue. If @width or @height is 0, the call has no effect.
 *
 * CUDA: refuses a kind that the memory does not have.
 */
HMM_API hmmError_t hmmMemcpy2DAsync(void* to, size_t toPitch, const void* from, size_t fromPitch,
                                    size_t width, size_t height, hmmMemcpyKind kind,
                                    hmmStream_t stream HMM_DEFAULT(nullptr));
/*
 * Copies in the default stream of the current device and waits for it. The same
 * holds for the other functions below without "Async".
 *
 * CUDA: refuses a kind that the memory does not have.
 */
HMM_API hmmError_t hmmMemcpy2D(void* to, size_t toPitch, const void* from, size_t fromPitch,
                               size_t width, size_t height, hmmMemcpyKind kind);
/*
 * Queues a fill of the rows with the low byte of @value. The padding between
 * rows keeps its content. The pitch of a single row may have any value. Other
 * errors as for hmmMemcpy2DAsync().
 */
HMM_API hmmError_t hmmMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                    hmmStream_t stream HMM_DEFAULT(nullptr));
/*
 * As hmmMemset2DAsync(), and waits.
 *
 * CUDA: does not always wait.
 */
HMM_API hmmError_t hmmMemset2D(void* to, size_t pitch, int value, size_t width, size_t height);

/* ---- boxes ------------------------------------------------------------ */

typedef struct hmmExtent {
    size_t width; /* bytes */
    size_t height;
    size_t depth;
} hmmExtent;

typedef struct hmmPos {
    size_t x; /* bytes */
    size_t y;
    size_t z;
} hmmPos;

/*
 * Memory of a box: rows that start @pitch bytes apart, with @ysize rows per
 * layer.
 */
typedef struct hmmPitchedPtr {
    void* ptr;
    size_t pitch;
    size_t xsize; /* bytes per row; the library ignores it */
    size_t ysize;
} hmmPitchedPtr;

static inline hmmExtent make_hmmExtent(size_t width, size_t height, size_t depth) {
    hmmExtent made;
    made.width = width;
    made.height = height;
    made.depth = depth;
    return made;
}

static inline hmmPos make_hmmPos(size_t x, size_t y, size_t z) {
    hmmPos made;
    made.x = x;
    made.y = y;
    made.z = z;
    return made;
}

static inline hmmPitchedPtr make_hmmPitchedPtr(void* ptr, size_t pitch, size_t xsize,
                                               size_t ysize) {
    hmmPitchedPtr made;
    made.ptr = ptr;
    made.pitch = pitch;
    made.xsize = xsize;
    made.ysize = ysize;
    return made;
}

/* Arrays are not supported: hmmErrorNotSupported for one that is not NULL. */
typedef struct hmmArray* hmmArray_t;

typedef struct hmmMemcpy3DParms {
    hmmArray_t srcArray; /* NULL */
    hmmPos srcPos;       /* start of the box in srcPtr */
    hmmPitchedPtr srcPtr;
    hmmArray_t dstArray; /* NULL */
    hmmPos dstPos;
    hmmPitchedPtr dstPtr;
    hmmExtent extent;
    hmmMemcpyKind kind;
} hmmMemcpy3DParms;

/*
 * Allocates memory for a box with hmmMalloc(). Otherwise as hmmMallocPitch().
 *
 * CUDA: the pitch is a multiple of another number.
 */
HMM_API hmmError_t hmmMalloc3D(hmmPitchedPtr* memory, hmmExtent extent);
/*
 * Queues a copy of a box: copies each layer as hmmMemcpy2DAsync() does. Also
 * hmmErrorInvalidValue if the box has several layers and more rows than a layer
 * of the memory (ysize). hmmErrorNotSupported for arrays.
 *
 * CUDA: has arrays.
 */
HMM_API hmmError_t hmmMemcpy3DAsync(const hmmMemcpy3DParms* params,
                                    hmmStream_t stream HMM_DEFAULT(nullptr));
/*
 * As hmmMemcpy3DAsync(), and waits.
 *
 * CUDA: has arrays.
 */
HMM_API hmmError_t hmmMemcpy3D(const hmmMemcpy3DParms* params);
/*
 * Queues a fill of a box: fills each layer as hmmMemset2DAsync() does. Errors
 * as for hmmMemcpy3DAsync().
 */
HMM_API hmmError_t hmmMemset3DAsync(hmmPitchedPtr to, int value, hmmExtent extent,
                                    hmmStream_t stream HMM_DEFAULT(nullptr));
/*
 * As hmmMemset3DAsync(), and waits.
 *
 * CUDA: does not always wait.
 */
HMM_API hmmError_t hmmMemset3D(hmmPitchedPtr to, int value, hmmExtent extent);

/* ---- between devices -------------------------------------------------- */

/*
 * As hmmMemcpyAsync() with hmmMemcpyDefault. The call checks that both devices exist and otherwise
 * ignores them: a copy need not be told which device holds the memory. The
 * device of the stream copies. hmmErrorNotSupported if it has no access to a
 * mapping of a memory object on either side.
 *
 * CUDA: the arguments select the device memory; here each page may be anywhere.
 */
HMM_API hmmError_t hmmMemcpyPeerAsync(void* to, int toDevice, const void* from, int fromDevice,
                                      size_t bytes, hmmStream_t stream HMM_DEFAULT(nullptr));
/*
 * As hmmMemcpyPeerAsync(), but first waits for the work of both devices, and
 * then for the copy.
 *
 * CUDA: orders the copy after that work too, but does not wait for it.
 */
HMM_API hmmError_t hmmMemcpyPeer(void* to, int toDevice, const void* from, int fromDevice,
                                 size_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_COPY_H */
