/* SPDX-License-Identifier: MIT */
/*
 * Conversions; rn rounds to the nearest, rz towards zero, ru up, rd down. A number
 * that is too large for a whole one becomes the last of these.
 */
#ifndef HMM_CUDA_DEVICE_CONVERSIONS_H
#define HMM_CUDA_DEVICE_CONVERSIONS_H

#include "../number_rounding.h"
#include "device_keywords.h"

HMM_CUDA_EXACT

#define HMM_CUDA_TO_WHOLE(mode, from, to, From, To)                                                \
    HMM_CUDA_BOTH To __##from##2##to##_##mode(From x) {                                            \
        return __hmm_to_whole<To, __hmm_##mode>(x);                                                \
    }
#define HMM_CUDA_TO_WHOLES(from)                                                                   \
    HMM_CUDA_ROUNDED(HMM_CUDA_TO_WHOLE, from, int, from, int)                                      \
    HMM_CUDA_ROUNDED(HMM_CUDA_TO_WHOLE, from, uint, from, unsigned int)                            \
    HMM_CUDA_ROUNDED(HMM_CUDA_TO_WHOLE, from, ll, from, long long)                                 \
    HMM_CUDA_ROUNDED(HMM_CUDA_TO_WHOLE, from, ull, from, unsigned long long)
HMM_CUDA_TO_WHOLES(float)
HMM_CUDA_TO_WHOLES(double)
#undef HMM_CUDA_TO_WHOLES
#undef HMM_CUDA_TO_WHOLE

#define HMM_CUDA_TO_FLOAT(mode, from, From)                                                        \
    HMM_CUDA_BOTH float __##from##2float_##mode(From x) {                                          \
        return __hmm_narrow<__hmm_##mode>(__hmm_whole_to_odd<From>(x));                            \
    }
HMM_CUDA_ROUNDED(HMM_CUDA_TO_FLOAT, int, int)
HMM_CUDA_ROUNDED(HMM_CUDA_TO_FLOAT, uint, unsigned int)
HMM_CUDA_ROUNDED(HMM_CUDA_TO_FLOAT, ll, long long)
HMM_CUDA_ROUNDED(HMM_CUDA_TO_FLOAT, ull, unsigned long long)
#undef HMM_CUDA_TO_FLOAT

HMM_CUDA_BOTH double __int2double_rn(int x) {
    return x;
}
HMM_CUDA_BOTH double __uint2double_rn(unsigned int x) {
    return x;
}
#define HMM_CUDA_TO_DOUBLE(mode, from, From)                                                       \
    HMM_CUDA_BOTH double __##from##2double_##mode(From x) {                                        \
        return __hmm_whole_to_double<__hmm_##mode>(x);                                             \
    }
HMM_CUDA_ROUNDED(HMM_CUDA_TO_DOUBLE, ll, long long)
HMM_CUDA_ROUNDED(HMM_CUDA_TO_DOUBLE, ull, unsigned long long)
#undef HMM_CUDA_TO_DOUBLE

#define HMM_CUDA_NARROW(mode, ...)                                                                 \
    HMM_CUDA_BOTH float __double2float_##mode(double x) {                                          \
        return __hmm_narrow<__hmm_##mode>(x);                                                      \
    }
HMM_CUDA_ROUNDED(HMM_CUDA_NARROW, )
#undef HMM_CUDA_NARROW

HMM_CUDA_EXACT_END

/* Bits. */
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
HMM_CUDA_BOTH int __double2hiint(double x) {
    return static_cast<int>(__double_as_longlong(x) >> 32);
}
HMM_CUDA_BOTH int __double2loint(double x) {
    return static_cast<int>(__double_as_longlong(x));
}
HMM_CUDA_BOTH double __hiloint2double(int high, int low) {
    return __hmm_bits_as<double>(static_cast<unsigned long long>(static_cast<unsigned int>(high))
                                     << 32 |
                                 static_cast<unsigned int>(low));
}

#endif /* HMM_CUDA_DEVICE_CONVERSIONS_H */
