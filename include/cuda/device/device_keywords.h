/* SPDX-License-Identifier: MIT */
/* How the headers of this folder declare functions, and what programs ask about the compiler. */
#ifndef HMM_CUDA_DEVICE_KEYWORDS_H
#define HMM_CUDA_DEVICE_KEYWORDS_H

#include "../host_defines.h"

/* Programs that are for nvcc ask for these. */
#define __CUDACC__ 1
#define __NVCC__ 1
#define __HMMCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_EXTENDED_LAMBDA__ 1

#define HMM_CUDA_DEVICE static __device__ inline __attribute__((always_inline))
#define HMM_CUDA_MEMBER __device__ inline __attribute__((always_inline))

#endif /* HMM_CUDA_DEVICE_KEYWORDS_H */
