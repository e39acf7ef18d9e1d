/* SPDX-License-Identifier: MIT */
/*
 * The runtime interface for C and C++: the functions of cuda_runtime_api.h, and
 * in C++ their overloads for pointers of any type, kernels and variables. In
 * clang's CUDA mode also what device code uses.
 */
#ifndef HMM_CUDA_CUDA_RUNTIME_H
#define HMM_CUDA_CUDA_RUNTIME_H
/* Programs test for this macro before they use the header. */
#define __CUDA_RUNTIME_H__

#include "cuda_runtime_api.h"
#include "driver_types.h"
#include "host_defines.h"
#include "vector_functions.h"
#include "vector_types.h"

#if defined(__CUDA__) && defined(__has_include)
#if __has_include("device/device.h")
#include "device/device.h"
#endif
#endif

#ifdef __cplusplus

#include "cuda_runtime_overloads.h"

#endif

#endif /* HMM_CUDA_CUDA_RUNTIME_H */
