/* SPDX-License-Identifier: MIT */
/* Accesses with a hint, which this processor has no use for; time; and the end of a thread. */
#ifndef HMM_CUDA_DEVICE_MEMORY_H
#define HMM_CUDA_DEVICE_MEMORY_H

#include "device_keywords.h"

#include <ctime>
#include <type_traits>

#define HMM_CUDA_LOAD(name)                                                                        \
    template <class T>                                                                             \
    HMM_CUDA_DEVICE T name(const T* address) {                                                     \
        return *address;                                                                           \
    }
HMM_CUDA_LOAD(__ldg)
HMM_CUDA_LOAD(__ldca)
HMM_CUDA_LOAD(__ldcg)
HMM_CUDA_LOAD(__ldcs)
HMM_CUDA_LOAD(__ldlu)
#undef HMM_CUDA_LOAD

/* Reads memory each time. */
template <class T>
HMM_CUDA_DEVICE T __ldcv(const T* address) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    const T value = *address;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return value;
}

#define HMM_CUDA_STORE(name)                                                                       \
    template <class T>                                                                             \
    HMM_CUDA_DEVICE void name(T* address, std::enable_if_t<true, T> value) {                       \
        *address = value;                                                                          \
    }
HMM_CUDA_STORE(__stcg)
HMM_CUDA_STORE(__stcs)
HMM_CUDA_STORE(__stwb)
HMM_CUDA_STORE(__stwt)
#undef HMM_CUDA_STORE

/* The processor's time stamp counter. Clang refuses its builtin in device code. */
extern "C" __host__ __device__ clock_t __hmm_clock(void) noexcept;
HMM_CUDA_DEVICE long long clock64() {
    return __hmm_clock();
}
/* The C library has a function of this name, which host code calls. */
#ifdef __CUDA_ARCH__
extern "C" __host__ __device__ clock_t clock(void) noexcept __asm__("__hmm_clock");
#endif

/* A thread may wait up to twice as long, or not at all. */
extern "C" __host__ __device__ int sched_yield(void) noexcept;
HMM_CUDA_DEVICE void __nanosleep(unsigned int nanoseconds) {
    if (nanoseconds >= 1000) sched_yield();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

HMM_CUDA_DEVICE void __trap() {
    __builtin_trap();
}
/* A debugger stops here. */
HMM_CUDA_DEVICE void __brkpt() {
    __builtin_debugtrap();
}
HMM_CUDA_BOTH void __assume(bool condition) {
    __builtin_assume(condition);
}

#endif /* HMM_CUDA_DEVICE_MEMORY_H */
