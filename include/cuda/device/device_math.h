/* SPDX-License-Identifier: MIT */
/*
 * Functions of CUDA's math library that <cmath> does not have, and those of
 * numbers as bits. The fast variants (__expf and so on) are the usual functions.
 */
#ifndef HMM_CUDA_DEVICE_MATH_H
#define HMM_CUDA_DEVICE_MATH_H

#include "device_keywords.h"

#include <cmath>
#include <cstring>
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

HMM_CUDA_BOTH float rsqrtf(float x) {
    return 1.0F / sqrtf(x);
}
HMM_CUDA_BOTH double rsqrt(double x) {
    return 1.0 / sqrt(x);
}
HMM_CUDA_BOTH float __frsqrt_rn(float x) {
    return 1.0F / sqrtf(x);
}
HMM_CUDA_BOTH float __fsqrt_rn(float x) {
    return sqrtf(x);
}
HMM_CUDA_BOTH float __fdividef(float a, float b) {
    return a / b;
}
HMM_CUDA_BOTH float __frcp_rn(float x) {
    return 1.0F / x;
}
HMM_CUDA_BOTH float __fmaf_rn(float a, float b, float c) {
    return fmaf(a, b, c);
}
HMM_CUDA_BOTH double __fma_rn(double a, double b, double c) {
    return fma(a, b, c);
}
HMM_CUDA_BOTH float __saturatef(float x) {
    return x > 0.0F ? x < 1.0F ? x : 1.0F : 0.0F;
}
HMM_CUDA_BOTH float sinpif(float x) {
    return static_cast<float>(sin(3.14159265358979323846 * fmod(static_cast<double>(x), 2.0)));
}
HMM_CUDA_BOTH float cospif(float x) {
    return static_cast<float>(cos(3.14159265358979323846 * fmod(static_cast<double>(x), 2.0)));
}

/* Bits. */
template <class To, class From>
HMM_CUDA_BOTH To __hmm_bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}
HMM_CUDA_BOTH int __float_as_int(float x) {
    return __hmm_bits_as<int>(x);
}
HMM_CUDA_BOTH unsigned int __float_as_uint(float x) {
    return __hmm_bits_as<unsigned int>(x);
}
HMM_CUDA_BOTH float __int_as_float(int x) {
    return __hmm_bits_as<float>(x);
}
HMM_CUDA_BOTH float __uint_as_float(unsigned int x) {
    return __hmm_bits_as<float>(x);
}
HMM_CUDA_BOTH long long __double_as_longlong(double x) {
    return __hmm_bits_as<long long>(x);
}
HMM_CUDA_BOTH double __longlong_as_double(long long x) {
    return __hmm_bits_as<double>(x);
}
HMM_CUDA_BOTH int __popc(unsigned int x) {
    return __builtin_popcount(x);
}
HMM_CUDA_BOTH int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
HMM_CUDA_BOTH int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(x));
}
HMM_CUDA_BOTH int __clzll(long long x) {
    return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
HMM_CUDA_BOTH int __ffs(int x) {
    return __builtin_ffs(x);
}
HMM_CUDA_BOTH int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
HMM_CUDA_BOTH unsigned int __brev(unsigned int x) {
    return __builtin_bitreverse32(x);
}
HMM_CUDA_BOTH unsigned long long __brevll(unsigned long long x) {
    return __builtin_bitreverse64(x);
}

/* Whole numbers. */
HMM_CUDA_BOTH int __mul24(int a, int b) {
    return (a << 8 >> 8) * (b << 8 >> 8);
}
HMM_CUDA_BOTH unsigned int __umul24(unsigned int a, unsigned int b) {
    return (a & 0xffffffU) * (b & 0xffffffU);
}
HMM_CUDA_BOTH int __mulhi(int a, int b) {
    return static_cast<int>(static_cast<long long>(a) * b >> 32);
}
HMM_CUDA_BOTH unsigned int __umulhi(unsigned int a, unsigned int b) {
    return static_cast<unsigned int>(static_cast<unsigned long long>(a) * b >> 32);
}
HMM_CUDA_BOTH unsigned int __sad(int a, int b, unsigned int c) {
    return (a < b ? static_cast<unsigned int>(b) - static_cast<unsigned int>(a)
                  : static_cast<unsigned int>(a) - static_cast<unsigned int>(b)) +
           c;
}

/* Conversions; rn rounds to the nearest, rz towards zero, ru up, rd down. */
HMM_CUDA_BOTH int __float2int_rn(float x) {
    return static_cast<int>(rintf(x));
}
HMM_CUDA_BOTH int __float2int_rz(float x) {
    return static_cast<int>(x);
}
HMM_CUDA_BOTH int __float2int_ru(float x) {
    return static_cast<int>(ceilf(x));
}
HMM_CUDA_BOTH int __float2int_rd(float x) {
    return static_cast<int>(floorf(x));
}
HMM_CUDA_BOTH unsigned int __float2uint_rn(float x) {
    return static_cast<unsigned int>(rintf(x));
}
HMM_CUDA_BOTH float __int2float_rn(int x) {
    return static_cast<float>(x);
}
HMM_CUDA_BOTH float __uint2float_rn(unsigned int x) {
    return static_cast<float>(x);
}
HMM_CUDA_BOTH int __double2int_rn(double x) {
    return static_cast<int>(rint(x));
}

/* Loads with a hint, which this processor has no use for. */
template <class T>
HMM_CUDA_DEVICE T __ldg(const T* place) {
    return *place;
}
template <class T>
HMM_CUDA_DEVICE T __ldcg(const T* place) {
    return *place;
}
template <class T>
HMM_CUDA_DEVICE T __ldcs(const T* place) {
    return *place;
}
template <class T>
HMM_CUDA_DEVICE void __stcs(T* place, std::enable_if_t<true, T> value) {
    *place = value;
}

/* The processor's time stamp counter. */
HMM_CUDA_DEVICE long long clock64() {
    return static_cast<long long>(__builtin_ia32_rdtsc());
}
HMM_CUDA_DEVICE void __trap() {
    __builtin_trap();
}

#endif /* HMM_CUDA_DEVICE_MATH_H */
