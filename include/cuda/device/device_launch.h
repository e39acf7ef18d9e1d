/* SPDX-License-Identifier: MIT */
/* What clang calls for <<<grid, block, shared, stream>>>. */
#ifndef HMM_CUDA_DEVICE_LAUNCH_H
#define HMM_CUDA_DEVICE_LAUNCH_H

#include "../vector_types.h"
#include "device_keywords.h"

#include <cstddef>

extern "C" __host__ unsigned int
__cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared = 0, void* stream = nullptr);

#endif /* HMM_CUDA_DEVICE_LAUNCH_H */
