/* SPDX-License-Identifier: MIT */
/*
 * The functions of the runtime interface, for C and C++. They have CUDA's
 * signatures, and the semantics of the hmm function with the same name, which
 * include/hmm describes; docs/cuda-api.md has the differences.
 */
#ifndef HMM_CUDA_CUDA_RUNTIME_API_H
#define HMM_CUDA_CUDA_RUNTIME_API_H

#include "driver_types.h"
#include "host_defines.h"
#include "vector_types.h"

/* The version of the interface: CUDA 12.8. */
#define CUDART_VERSION 12080
#define CUDA_VERSION 12080

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ----------------------------------------------------------- */

extern cudaError_t CUDARTAPI cudaGetLastError(void);
extern cudaError_t CUDARTAPI cudaPeekAtLastError(void);
extern const char* CUDARTAPI cudaGetErrorName(cudaError_t error);
extern const char* CUDARTAPI cudaGetErrorString(cudaError_t error);

#ifdef __cplusplus
}
#endif

#endif /* HMM_CUDA_CUDA_RUNTIME_API_H */
