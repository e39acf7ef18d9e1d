/* SPDX-License-Identifier: MIT */
/*
 * Conversions that round as the caller says, for device code and for the types of
 * cuda_fp16.h and cuda_bf16.h. A number is rounded to the nearest first; what was
 * lost says if the neighbour is the right one.
 */
#ifndef HMM_CUDA_NUMBER_ROUNDING_H
#define HMM_CUDA_NUMBER_ROUNDING_H

#include "host_defines.h"

#ifdef __cplusplus

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

/*
 * Between these, each operation is the one that the source names, also with
 * -use_fast_math: nothing is contracted or put in another order, and there are
 * numbers that are not finite.
 */
#ifdef __clang__
#define HMM_CUDA_EXACT                                                                             \
    _Pragma("float_control(push)") _Pragma("float_control(precise, on)")                           \
        _Pragma("clang fp contract(off)")
#define HMM_CUDA_EXACT_END _Pragma("float_control(pop)")
#else
#define HMM_CUDA_EXACT
#define HMM_CUDA_EXACT_END
#endif

/* The names in CUDA's functions are _rn, _rz, _ru and _rd. */
enum __hmm_rounding { __hmm_rn, __hmm_rz, __hmm_ru, __hmm_rd };

/* What defines a function for each rounding; @define gets the suffix and all that follows. */
#define HMM_CUDA_DIRECTED(define, ...)                                                             \
    define(rz, __VA_ARGS__) define(ru, __VA_ARGS__) define(rd, __VA_ARGS__)
#define HMM_CUDA_ROUNDED(define, ...) define(rn, __VA_ARGS__) HMM_CUDA_DIRECTED(define, __VA_ARGS__)

template <class To, class From>
HMM_CUDA_BOTH To __hmm_bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "the types must have the same size");
    To to;
    memcpy(&to, &from, sizeof(To));
    return to;
}

HMM_CUDA_EXACT

/* From the bits of a number that is above or below the exact one, to those of its neighbour. */
template <__hmm_rounding Mode, class Bits>
HMM_CUDA_BOTH Bits __hmm_step(Bits bits, bool above, bool below) {
    const bool negative = bits >> (8 * sizeof(Bits) - 1) != 0;
    const Bits smaller = static_cast<Bits>(bits - 1), larger = static_cast<Bits>(bits + 1);
    if (Mode == __hmm_rz) return (negative ? below : above) ? smaller : bits;
    if (Mode == __hmm_rd) return above ? (negative ? larger : smaller) : bits;
    if (Mode == __hmm_ru) return below ? (negative ? smaller : larger) : bits;
    return bits;
}

template <__hmm_rounding Mode>
HMM_CUDA_BOTH float __hmm_narrow(double x) {
    const float nearest = static_cast<float>(x);
    const double back = nearest;
    return __hmm_bits_as<float>(
        __hmm_step<Mode>(__hmm_bits_as<unsigned int>(nearest), back > x, back < x));
}

/*
 * Rounding to odd: of two neighbours, the one with an odd last bit. Numbers with
 * two bits less than the result are still on the side that they were on.
 */
template <class Bits, class Number>
HMM_CUDA_BOTH Number __hmm_to_odd(Number nearest, double lost) {
    const Bits bits = __hmm_bits_as<Bits>(nearest);
    if ((bits & 1) != 0 || !(lost > 0 || lost < 0)) return nearest;
    const bool negative = bits >> (8 * sizeof(Bits) - 1) != 0;
    return __hmm_bits_as<Number>((lost > 0) != negative ? bits + 1 : bits - 1);
}
HMM_CUDA_BOTH float __hmm_narrow_to_odd(double x) {
    const float nearest = static_cast<float>(x);
    return __hmm_to_odd<unsigned int>(nearest, x - nearest);
}
HMM_CUDA_BOTH double __hmm_add_to_odd(double a, double b) {
    const double sum = a + b;
    const bool first = fabs(a) >= fabs(b);
    const double large = first ? a : b, small = first ? b : a;
    return __hmm_to_odd<unsigned long long>(sum, small - (sum - large));
}

/* Whole numbers; those of 64 bits need not fit. */
template <class Whole>
HMM_CUDA_BOTH double __hmm_whole_to_odd(Whole x) {
    if (sizeof(Whole) < 8) return static_cast<double>(x);
    constexpr Whole exact = static_cast<Whole>(1LL << 53);
    const bool fits = x <= exact && (std::is_unsigned<Whole>::value || x >= Whole(0) - exact);
    constexpr Whole lost = static_cast<Whole>(0x7ff), last = static_cast<Whole>(0x800);
    const Whole odd =
        static_cast<Whole>((x & static_cast<Whole>(~lost)) | ((x & lost) != 0 ? last : Whole(0)));
    return static_cast<double>(fits ? x : odd);
}
template <__hmm_rounding Mode, class Whole>
HMM_CUDA_BOTH double __hmm_whole_to_double(Whole x) {
    const double high = static_cast<double>(x >> 32) * 4294967296.0;
    const double low = static_cast<double>(static_cast<unsigned int>(x));
    const double sum = high + low, lost = low - (sum - high);
    return __hmm_bits_as<double>(
        __hmm_step<Mode>(__hmm_bits_as<unsigned long long>(sum), lost<0, lost> 0));
}

template <__hmm_rounding Mode, class Number>
HMM_CUDA_BOTH Number __hmm_integral(Number x) {
    return Mode == __hmm_rz   ? std::trunc(x)
           : Mode == __hmm_ru ? std::ceil(x)
           : Mode == __hmm_rd ? std::floor(x)
                              : std::rint(x);
}
/* The nearest that @Whole has. If @x is no number it is 0, or the highest bit where one of the
 * types has 64 bits. */
template <class Whole, __hmm_rounding Mode, class Number>
HMM_CUDA_BOTH Whole __hmm_to_whole(Number x) {
    constexpr Whole last = std::numeric_limits<Whole>::max();
    constexpr Whole first = std::numeric_limits<Whole>::min();
    constexpr Number end = static_cast<Number>(last / 2 + 1) * 2;
    constexpr Whole none = sizeof(Number) == 8 || sizeof(Whole) == 8
                               ? static_cast<Whole>(1ULL << (sizeof(Whole) * 8 - 1))
                               : 0;
    const Number whole = __hmm_integral<Mode>(x);
    if (whole >= end) return last;
    if (whole >= static_cast<Number>(first)) return static_cast<Whole>(whole);
    return whole < 0 ? first : none;
}

HMM_CUDA_EXACT_END

#endif /* __cplusplus */

#endif /* HMM_CUDA_NUMBER_ROUNDING_H */
