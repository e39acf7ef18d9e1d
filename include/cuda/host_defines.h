/* SPDX-License-Identifier: MIT */
/*
 * The keywords of CUDA C++ that stand before declarations, and what declares
 * the functions of the interface.
 *
 * Clang's CUDA mode (it defines __CUDA__) has an attribute for each keyword.
 * Elsewhere the keywords of functions and variables expand to nothing, as host
 * compilers see them.
 */
#ifndef HMM_CUDA_HOST_DEFINES_H
#define HMM_CUDA_HOST_DEFINES_H

#ifdef __cplusplus
#define HMM_CUDA_DEFAULT(value) = value
#else
#define HMM_CUDA_DEFAULT(value)
#endif

#define CUDARTAPI
#define CUDART_CB
#define CUDAAPI
#define CUDA_CB

#if defined(__CUDA__) && defined(__clang__)

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
/* One address space: a variable of the device is one of the program. hmmcc reads the annotation. */
#define __managed__ __attribute__((device, annotate("hmm.managed")))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

#else

#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __launch_bounds__(...)

#endif

#define __grid_constant__
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __device_builtin__
#define __builtin_align__(bytes) __align__(bytes)

/* Functions of our headers that are for both. */
#define HMM_CUDA_BOTH static __host__ __device__ __inline__ __attribute__((always_inline))
/* The same for functions that C23 has, too: newer C libraries declare them, and declarations that
   follow are of the same function. They end in noexcept, as the C library's do. */
#define HMM_CUDA_BOTH_C extern "C" __host__ __device__ __inline__ __attribute__((always_inline))
#define HMM_CUDA_BOTH_MEMBER __host__ __device__ __inline__ __attribute__((always_inline))

#endif /* HMM_CUDA_HOST_DEFINES_H */
