/* SPDX-License-Identifier: MIT */
/* Barriers of a block and of a grid, and fences. */
#ifndef HMM_CUDA_DEVICE_BARRIERS_H
#define HMM_CUDA_DEVICE_BARRIERS_H

#include "device_keywords.h"

/* hmmcc splits kernels at calls of these. */
extern "C" {
__device__ void __hmm_block_barrier(void) __attribute__((convergent, nothrow, noduplicate));
/* Returns the number of threads with a condition that is not 0. */
__device__ unsigned int __hmm_block_count(int condition)
    __attribute__((convergent, nothrow, noduplicate));
__device__ void __hmm_grid_barrier(void) __attribute__((convergent, nothrow, noduplicate));
/* 1 in a cooperative launch, else 0. */
__device__ unsigned int __hmm_grid_is_valid(void) __attribute__((const, nothrow));
}

HMM_CUDA_DEVICE void __syncthreads() {
    __hmm_block_barrier();
}
HMM_CUDA_DEVICE int __syncthreads_count(int condition) {
    return static_cast<int>(__hmm_block_count(condition));
}
HMM_CUDA_DEVICE int __syncthreads_or(int condition) {
    return __hmm_block_count(condition) != 0;
}
HMM_CUDA_DEVICE int __syncthreads_and(int condition) {
    return __hmm_block_count(condition == 0) == 0;
}

HMM_CUDA_DEVICE void __threadfence() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
HMM_CUDA_DEVICE void __threadfence_block() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
HMM_CUDA_DEVICE void __threadfence_system() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif /* HMM_CUDA_DEVICE_BARRIERS_H */
