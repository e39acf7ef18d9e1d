/* SPDX-License-Identifier: MIT */
/* threadIdx and its relatives, and memory that device code creates objects in. */
#ifndef HMM_CUDA_DEVICE_INDEX_H
#define HMM_CUDA_DEVICE_INDEX_H

#include "../vector_types.h"
#include "device_keywords.h"

/* hmmcc replaces calls of these by values of the loop over the threads. */
extern "C" {
__device__ unsigned int __hmm_thread_index(int dimension) __attribute__((const, nothrow));
__device__ unsigned int __hmm_block_index(int dimension) __attribute__((const, nothrow));
__device__ unsigned int __hmm_block_size(int dimension) __attribute__((const, nothrow));
__device__ unsigned int __hmm_grid_size(int dimension) __attribute__((const, nothrow));
__device__ unsigned int __hmm_thread_rank(void) __attribute__((const, nothrow));
}

/* A member that calls a function. */
#define HMM_CUDA_INDEX_MEMBER(member, function, dimension)                                         \
    __declspec(property(get = get_##member)) unsigned int member;                                  \
    __device__ inline __attribute__((always_inline)) unsigned int get_##member() const {           \
        return function(dimension);                                                                \
    }
#define HMM_CUDA_INDEX(type, name, function)                                                       \
    struct type {                                                                                  \
        using __hmm_index = void; /* dim3 asks for it */                                           \
        HMM_CUDA_INDEX_MEMBER(x, function, 0)                                                      \
        HMM_CUDA_INDEX_MEMBER(y, function, 1)                                                      \
        HMM_CUDA_INDEX_MEMBER(z, function, 2)                                                      \
        __device__ inline __attribute__((always_inline)) operator uint3() const {                  \
            return uint3{x, y, z};                                                                 \
        }                                                                                          \
        type& operator=(const type&) = delete;                                                     \
    };                                                                                             \
    extern const __device__ type name;

HMM_CUDA_INDEX(__hmm_thread_index_t, threadIdx, __hmm_thread_index)
HMM_CUDA_INDEX(__hmm_block_index_t, blockIdx, __hmm_block_index)
HMM_CUDA_INDEX(__hmm_block_size_t, blockDim, __hmm_block_size)
HMM_CUDA_INDEX(__hmm_grid_size_t, gridDim, __hmm_grid_size)

#undef HMM_CUDA_INDEX
#undef HMM_CUDA_INDEX_MEMBER

static constexpr __device__ int warpSize = 32;

/* <new> declares these for the host alone. */
inline __device__ void* operator new(std::size_t, void* place) noexcept {
    return place;
}
inline __device__ void* operator new[](std::size_t, void* place) noexcept {
    return place;
}
inline __device__ void operator delete(void*, void*) noexcept {}
inline __device__ void operator delete[](void*, void*) noexcept {}

#endif /* HMM_CUDA_DEVICE_INDEX_H */
