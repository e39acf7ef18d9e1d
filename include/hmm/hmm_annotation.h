/* SPDX-License-Identifier: MIT */
/*
 * Annotations: what a program says about itself to tools that observe it, such as
 * hmmctl. They are events, and have no other effect. hmm_runtime.h includes this
 * file.
 *
 * A text has at most 55 bytes, and what is longer is cut. Control characters,
 * and bytes that are no UTF-8, become `?`. hmmErrorInvalidValue for NULL or an
 * empty text. The names of the functions are those of NVTX.
 */
#ifndef HMM_HMM_ANNOTATION_H
#define HMM_HMM_ANNOTATION_H

#include "hmm_types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The calling thread has come to this place. NVTX: nvtxMarkA(). */
HMM_API hmmError_t hmmMark(const char* text);

/*
 * Begins a section of the calling thread, inside of those that have begun
 * already. A section is recorded when it ends. Of sections inside of 64 others,
 * hmmErrorInvalidConfiguration says that they will not be recorded; end them
 * all the same. A thread that ends with open sections leaks 4 KiB. NVTX:
 * nvtxRangePushA(), which returns the depth.
 */
HMM_API hmmError_t hmmRangePush(const char* text);

/*
 * Ends the innermost section. hmmErrorInvalidValue if none has begun. NVTX:
 * nvtxRangePop(), which returns the depth.
 */
HMM_API hmmError_t hmmRangePop(void);

/*
 * Gives memory a name, until it gets another one: tools do not know when memory
 * is freed. The memory need not be mapped. NULL or an empty name takes the name
 * away. A size of 0 is valid, and has no effect. hmmErrorInvalidValue for a
 * range that exceeds the address space. NVTX: nvtxMemRegionsRegister().
 */
HMM_API hmmError_t hmmMemSetName(const void* ptr, size_t bytes, const char* name);

#ifdef __cplusplus
}
#endif

#endif /* HMM_HMM_ANNOTATION_H */
