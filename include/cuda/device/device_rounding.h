/* SPDX-License-Identifier: MIT */
/*
 * Operations that round as their name says: rn to the nearest, rz towards zero,
 * ru up, rd down. None of them becomes a part of a multiply-add.
 *
 * Numbers of 32 bits are calculated with 64 bits. Then the result of a division
 * or a root is on the same side of each float as the exact one, because the two
 * differ by 2^-49 of it at least. Numbers of 64 bits use the processor's own
 * rounding, in the library.
 */
#ifndef HMM_CUDA_DEVICE_ROUNDING_H
#define HMM_CUDA_DEVICE_ROUNDING_H

#include "../number_rounding.h"
#include "device_keywords.h"

#include <cmath>

/* The last argument is a __hmm_rounding. */
extern "C" {
__host__ __device__ double __hmm_directed_sum(double a, double b, int mode) noexcept;
__host__ __device__ double __hmm_directed_product(double a, double b, int mode) noexcept;
__host__ __device__ double __hmm_directed_quotient(double a, double b, int mode) noexcept;
__host__ __device__ double __hmm_directed_root(double x, int mode) noexcept;
__host__ __device__ double __hmm_directed_fma(double a, double b, double c, int mode) noexcept;
}

HMM_CUDA_EXACT

HMM_CUDA_BOTH float __fadd_rn(float a, float b) {
    return a + b;
}
HMM_CUDA_BOTH float __fsub_rn(float a, float b) {
    return a - b;
}
HMM_CUDA_BOTH float __fmul_rn(float a, float b) {
    return a * b;
}
HMM_CUDA_BOTH float __fdiv_rn(float a, float b) {
    return a / b;
}
HMM_CUDA_BOTH float __frcp_rn(float x) {
    return 1.0F / x;
}
/* With -use_fast_math clang takes sqrtf() itself for an estimate. */
HMM_CUDA_BOTH float __fsqrt_rn(float x) {
    return static_cast<float>(sqrt(static_cast<double>(x)));
}
HMM_CUDA_BOTH float __frsqrt_rn(float x) {
    return static_cast<float>(1.0 / sqrt(static_cast<double>(x)));
}
HMM_CUDA_BOTH float __fmaf_rn(float a, float b, float c) {
    return fmaf(a, b, c);
}

/* A sum that is 0 has a sign of its own if numbers are rounded down. */
template <__hmm_rounding Mode>
HMM_CUDA_BOTH float __hmm_narrow_sum(double a, double b) {
    const double sum = __hmm_add_to_odd(a, b);
    const bool negative = std::signbit(a) || std::signbit(b);
    return Mode == __hmm_rd && sum == 0 && negative ? -0.0F : __hmm_narrow<Mode>(sum);
}

#define HMM_CUDA_FLOAT(mode, ...)                                                                  \
    HMM_CUDA_BOTH float __fadd_##mode(float a, float b) {                                          \
        return __hmm_narrow_sum<__hmm_##mode>(a, b);                                               \
    }                                                                                              \
    HMM_CUDA_BOTH float __fsub_##mode(float a, float b) {                                          \
        return __hmm_narrow_sum<__hmm_##mode>(a, -b);                                              \
    }                                                                                              \
    HMM_CUDA_BOTH float __fmul_##mode(float a, float b) {                                          \
        return __hmm_narrow<__hmm_##mode>(static_cast<double>(a) * b);                             \
    }                                                                                              \
    HMM_CUDA_BOTH float __fdiv_##mode(float a, float b) {                                          \
        return __hmm_narrow<__hmm_##mode>(static_cast<double>(a) / b);                             \
    }                                                                                              \
    HMM_CUDA_BOTH float __frcp_##mode(float x) {                                                   \
        return __hmm_narrow<__hmm_##mode>(1.0 / x);                                                \
    }                                                                                              \
    HMM_CUDA_BOTH float __fsqrt_##mode(float x) {                                                  \
        return __hmm_narrow<__hmm_##mode>(sqrt(static_cast<double>(x)));                           \
    }                                                                                              \
    HMM_CUDA_BOTH float __fmaf_##mode(float a, float b, float c) {                                 \
        return __hmm_narrow_sum<__hmm_##mode>(static_cast<double>(a) * b, c);                      \
    }
HMM_CUDA_DIRECTED(HMM_CUDA_FLOAT, )
#undef HMM_CUDA_FLOAT
#define HMM_CUDA_FLOAT(mode, ...)                                                                  \
    HMM_CUDA_BOTH float __fmaf_ieee_##mode(float a, float b, float c) {                            \
        return __fmaf_##mode(a, b, c);                                                             \
    }
HMM_CUDA_ROUNDED(HMM_CUDA_FLOAT, )
#undef HMM_CUDA_FLOAT

HMM_CUDA_BOTH double __dadd_rn(double a, double b) {
    return a + b;
}
HMM_CUDA_BOTH double __dsub_rn(double a, double b) {
    return a - b;
}
HMM_CUDA_BOTH double __dmul_rn(double a, double b) {
    return a * b;
}
HMM_CUDA_BOTH double __ddiv_rn(double a, double b) {
    return a / b;
}
HMM_CUDA_BOTH double __drcp_rn(double x) {
    return 1.0 / x;
}
HMM_CUDA_BOTH double __dsqrt_rn(double x) {
    return sqrt(x);
}
HMM_CUDA_BOTH double __fma_rn(double a, double b, double c) {
    return fma(a, b, c);
}

#define HMM_CUDA_DOUBLE(mode, ...)                                                                 \
    HMM_CUDA_BOTH double __dadd_##mode(double a, double b) {                                       \
        return __hmm_directed_sum(a, b, __hmm_##mode);                                             \
    }                                                                                              \
    HMM_CUDA_BOTH double __dsub_##mode(double a, double b) {                                       \
        return __hmm_directed_sum(a, -b, __hmm_##mode);                                            \
    }                                                                                              \
    HMM_CUDA_BOTH double __dmul_##mode(double a, double b) {                                       \
        return __hmm_directed_product(a, b, __hmm_##mode);                                         \
    }                                                                                              \
    HMM_CUDA_BOTH double __ddiv_##mode(double a, double b) {                                       \
        return __hmm_directed_quotient(a, b, __hmm_##mode);                                        \
    }                                                                                              \
    HMM_CUDA_BOTH double __drcp_##mode(double x) {                                                 \
        return __hmm_directed_quotient(1.0, x, __hmm_##mode);                                      \
    }                                                                                              \
    HMM_CUDA_BOTH double __dsqrt_##mode(double x) {                                                \
        return __hmm_directed_root(x, __hmm_##mode);                                               \
    }                                                                                              \
    HMM_CUDA_BOTH double __fma_##mode(double a, double b, double c) {                              \
        return __hmm_directed_fma(a, b, c, __hmm_##mode);                                          \
    }
HMM_CUDA_DIRECTED(HMM_CUDA_DOUBLE, )
#undef HMM_CUDA_DOUBLE

HMM_CUDA_EXACT_END

#endif /* HMM_CUDA_DEVICE_ROUNDING_H */
