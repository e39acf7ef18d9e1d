/* SPDX-License-Identifier: MIT */
/*
 * threadIdx and its relatives. Clang's CUDA mode gets them from
 * cuda_runtime.h; a host compiler has none.
 */
#ifndef HMM_CUDA_DEVICE_LAUNCH_PARAMETERS_H
#define HMM_CUDA_DEVICE_LAUNCH_PARAMETERS_H

#ifdef __cplusplus
#include "cuda_runtime.h"
#else
#include "vector_types.h"
#endif

#endif /* HMM_CUDA_DEVICE_LAUNCH_PARAMETERS_H */
