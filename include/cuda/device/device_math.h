/* SPDX-License-Identifier: MIT */
/*
 * The fast variants (__expf and so on), which are the usual functions, and what
 * CUDA has beside <cmath> for numbers of all types.
 */
#ifndef HMM_CUDA_DEVICE_MATH_H
#define HMM_CUDA_DEVICE_MATH_H

#include "device_keywords.h"

#include <cmath>
#include <type_traits>

/* glibc declares some of these names. */
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __powf(x, y) powf(x, y)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __sincosf(x, s, c) sincosf(x, s, c)

/* min and max of numbers of two types, in CUDA's way without std. */
template <class A, class B>
HMM_CUDA_BOTH constexpr std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>,
                                         std::common_type_t<A, B>>
min(A a, B b) {
    if constexpr (std::is_floating_point_v<std::common_type_t<A, B>>) {
        const std::common_type_t<A, B> x = a, y = b;
        return x != x ? y : y < x ? y : x;
    } else {
        const std::common_type_t<A, B> x = a, y = b;
        return y < x ? y : x;
    }
}
template <class A, class B>
HMM_CUDA_BOTH constexpr std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>,
                                         std::common_type_t<A, B>>
max(A a, B b) {
    if constexpr (std::is_floating_point_v<std::common_type_t<A, B>>) {
        const std::common_type_t<A, B> x = a, y = b;
        return x != x ? y : x < y ? y : x;
    } else {
        const std::common_type_t<A, B> x = a, y = b;
        return x < y ? y : x;
    }
}

HMM_CUDA_BOTH_C float rsqrtf(float x) noexcept {
    return 1.0F / sqrtf(x);
}
HMM_CUDA_BOTH_C double rsqrt(double x) noexcept {
    return 1.0 / sqrt(x);
}
HMM_CUDA_BOTH float __fdividef(float a, float b) {
    return a / b;
}
HMM_CUDA_BOTH float __saturatef(float x) {
    return x > 0.0F ? x < 1.0F ? x : 1.0F : 0.0F;
}

#endif /* HMM_CUDA_DEVICE_MATH_H */
