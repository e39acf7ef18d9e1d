/* SPDX-License-Identifier: MIT */
/* The two formats of 16 bits, and conversions from and to them. */
#ifndef HMM_CUDA_HALF_FORMAT_H
#define HMM_CUDA_HALF_FORMAT_H

#include "../number_rounding.h"

HMM_CUDA_EXACT

/* 5 bits of exponent, 10 of fraction. */
struct __hmm_half_format {
    static constexpr unsigned short infinity = 0x7c00, one = 0x3c00;

#if defined(__clang__) && defined(__F16C__)
    /* The vectors become one instruction. */
    typedef __fp16 halves __attribute__((ext_vector_type(8)));
    typedef float floats __attribute__((ext_vector_type(8)));
    HMM_CUDA_BOTH float value(unsigned short bits) {
        const unsigned short words[8] = {bits};
        halves all;
        memcpy(&all, words, sizeof(all));
        return __builtin_convertvector(all, floats)[0];
    }
    HMM_CUDA_BOTH unsigned short nearest(float x) {
        floats all = {};
        all[0] = x;
        const halves converted = __builtin_convertvector(all, halves);
        unsigned short bits;
        memcpy(&bits, &converted, sizeof(bits));
        return bits;
    }
#else
    HMM_CUDA_BOTH float value(unsigned short bits) {
        const unsigned int sign = (bits & 0x8000U) << 16, size = bits & 0x7fffU;
        const float subnormal = static_cast<float>(size) * 5.9604644775390625e-8F;
        const unsigned int quiet = size > infinity ? 1U << 22 : 0;
        const unsigned int special = size << 13 | 0x7f800000U | quiet;
        const unsigned int result = size >= infinity ? special
                                    : size < 0x400   ? __hmm_bits_as<unsigned int>(subnormal)
                                                     : (size << 13) + (112U << 23);
        return __hmm_bits_as<float>(sign | result);
    }
    HMM_CUDA_BOTH unsigned short nearest(float x) {
        const unsigned int bits = __hmm_bits_as<unsigned int>(x), size = bits & 0x7fffffffU;
        /* The last bit of a number next to 1/2 is that of the subnormal numbers. */
        const unsigned int half = 0x3f000000U;
        const float moved = __hmm_bits_as<float>(size) + __hmm_bits_as<float>(half);
        const unsigned int subnormal = __hmm_bits_as<unsigned int>(moved) - half;
        const unsigned int normal = ((size + 0xfff + (size >> 13 & 1)) >> 13) - (112U << 10);
        const unsigned int result = size > 0x7f800000U    ? 0x7e00 | (size >> 13 & 0x3ff)
                                    : size >= 0x47800000U ? infinity
                                    : size < 0x38800000U  ? subnormal
                                                          : normal;
        return static_cast<unsigned short>((bits >> 16 & 0x8000U) | result);
    }
#endif
};

/* The upper half of a float. */
struct __hmm_bfloat16_format {
    static constexpr unsigned short infinity = 0x7f80, one = 0x3f80;

    HMM_CUDA_BOTH float value(unsigned short bits) {
        return __hmm_bits_as<float>(static_cast<unsigned int>(bits) << 16);
    }
    HMM_CUDA_BOTH unsigned short nearest(float x) {
        const unsigned int bits = __hmm_bits_as<unsigned int>(x);
        const bool number = (bits & 0x7fffffffU) <= 0x7f800000U;
        const unsigned int rounded = bits + 0x7fff + (bits >> 16 & 1);
        return static_cast<unsigned short>(number ? rounded >> 16 : bits >> 16 | 0x40);
    }
};

template <class Format, __hmm_rounding Mode = __hmm_rn>
HMM_CUDA_BOTH unsigned short __hmm_half_bits(float x) {
    const unsigned short bits = Format::nearest(x);
    if (Mode == __hmm_rn) return bits;
    const float back = Format::value(bits);
    return __hmm_step<Mode>(bits, back > x, back < x);
}
template <class Format, __hmm_rounding Mode = __hmm_rn>
HMM_CUDA_BOTH unsigned short __hmm_half_bits(double x) {
    return __hmm_half_bits<Format, Mode>(__hmm_narrow_to_odd(x));
}

HMM_CUDA_EXACT_END

#endif /* HMM_CUDA_HALF_FORMAT_H */
