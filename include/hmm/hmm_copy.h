/* SPDX-License-Identifier: MIT */
/* Copies and fills: of bytes, of rows, of boxes; hmm_runtime.h includes it. */
#ifndef HMM_HMM_COPY_H
#define HMM_HMM_COPY_H

#include "hmm_types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Says nothing here: any memory is as good as any other. */
typedef enum hmmMemcpyKind {
    hmmMemcpyHostToHost = 0,
    hmmMemcpyHostToDevice = 1,
    hmmMemcpyDeviceToHost = 2,
    hmmMemcpyDeviceToDevice = 3,
    hmmMemcpyDefault = 4
} hmmMemcpyKind;

/* ---- rows ------------------------------------------------------------- */

/*
 * Memory of hmmMalloc() for @height rows of @width bytes; they begin @pitch bytes apart, a multiple
 * of 512. If one of the two is 0: success, NULL and 0.
 */
HMM_API hmmError_t hmmMallocPitch(void** memory, size_t* pitch, size_t width, size_t height);
/*
 * Queues a copy of @height rows of @width bytes, as hmmMemcpyAsync() does; they begin @toPitch and
 * @fromPitch bytes apart. hmmErrorInvalidPitchValue for a pitch that is less than the width;
 * hmmErrorInvalidValue for rows that leave the address space. No row, or rows of 0 bytes: nothing.
 */
HMM_API hmmError_t hmmMemcpy2DAsync(void* to, size_t toPitch, const void* from, size_t fromPitch,
                                    size_t width, size_t height, hmmMemcpyKind kind,
                                    hmmStream_t stream HMM_DEFAULT(nullptr));
/* The same in the default stream of the current device, and waits for it; likewise below. */
HMM_API hmmError_t hmmMemcpy2D(void* to, size_t toPitch, const void* from, size_t fromPitch,
                               size_t width, size_t height, hmmMemcpyKind kind);
/* Queues a fill of the rows, and of nothing between them, with the low byte of @value. */
HMM_API hmmError_t hmmMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                                    hmmStream_t stream HMM_DEFAULT(nullptr));
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

/* Rows that begin @pitch bytes apart, of which @ysize are one above the other in each layer. */
typedef struct hmmPitchedPtr {
    void* ptr;
    size_t pitch;
    size_t xsize; /* bytes of a row; for the program alone */
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

/* There are no arrays: hmmErrorNotSupported for one that is not NULL. */
typedef struct hmmArray* hmmArray_t;

typedef struct hmmMemcpy3DParms {
    hmmArray_t srcArray; /* NULL */
    hmmPos srcPos;       /* where the box begins in srcPtr */
    hmmPitchedPtr srcPtr;
    hmmArray_t dstArray; /* NULL */
    hmmPos dstPos;
    hmmPitchedPtr dstPtr;
    hmmExtent extent;
    hmmMemcpyKind kind;
} hmmMemcpy3DParms;

/* Memory of hmmMalloc() for a box; as hmmMallocPitch(). */
HMM_API hmmError_t hmmMalloc3D(hmmPitchedPtr* memory, hmmExtent extent);
/*
 * Queues a copy of a box: as hmmMemcpy2DAsync() does for each layer. hmmErrorInvalidValue, too, if
 * there are several layers and the box is higher than the memory that it is in has rows.
 */
HMM_API hmmError_t hmmMemcpy3DAsync(const hmmMemcpy3DParms* params,
                                    hmmStream_t stream HMM_DEFAULT(nullptr));
HMM_API hmmError_t hmmMemcpy3D(const hmmMemcpy3DParms* params);
HMM_API hmmError_t hmmMemset3DAsync(hmmPitchedPtr to, int value, hmmExtent extent,
                                    hmmStream_t stream HMM_DEFAULT(nullptr));
HMM_API hmmError_t hmmMemset3D(hmmPitchedPtr to, int value, hmmExtent extent);

/* ---- from device to device -------------------------------------------- */

/*
 * As hmmMemcpyAsync(): that both devices exist is checked, and which device the memory is on is
 * nothing that a copy has to be told.
 */
HMM_API hmmError_t hmmMemcpyPeerAsync(void* to, int toDevice, const void* from, int fromDevice,
                                      size_t bytes, hmmStream_t stream HMM_DEFAULT(nullptr));
HMM_API hmmError_t hmmMemcpyPeer(void* to, int toDevice, const void* from, int fromDevice,
                                 size_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_COPY_H */
