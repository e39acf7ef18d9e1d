/* SPDX-License-Identifier: MIT */
/* What starts and stops CUDA's profilers, in the driver interface. It has no effect. */
#ifndef HMM_CUDA_CUDAPROFILER_H
#define HMM_CUDA_CUDAPROFILER_H

#include "cuda.h"

static __inline__ __host__ CUresult cuProfilerStart(void) {
    return CUDA_SUCCESS;
}
static __inline__ __host__ CUresult cuProfilerStop(void) {
    return CUDA_SUCCESS;
}

#endif /* HMM_CUDA_CUDAPROFILER_H */
