/* SPDX-License-Identifier: MIT */
/*
 * Functions and operators of the types of types.h, which cuda_fp16.h and
 * cuda_bf16.h include with their names.
 *
 * Sums, products, quotients and roots are those of float, rounded again: float has
 * more than twice the bits and two more, so that gives what one rounding would
 * give. A multiply-add needs more and is calculated with double.
 */

HMM_CUDA_EXACT

/* These do not depend on the conversions of the types. */
HMM_CUDA_BOTH float __hmm_half_value(HMM_HALF x) {
    return HMM_HALF_FORMAT::value(x.__x);
}
template <class Number>
HMM_CUDA_BOTH HMM_HALF HMM_HALF_NAMED(__hmm_, _of)(Number x) {
    return HMM_HALF_RAW{__hmm_half_bits<HMM_HALF_FORMAT>(x)};
}
#define HMM_HALF_OF HMM_HALF_NAMED(__hmm_, _of)

/* Of one number, of two, and of pairs of numbers. */
#define HMM_HALF_ONE(name, name2, result)                                                          \
    HMM_CUDA_BOTH HMM_HALF name(HMM_HALF number) {                                                 \
        const float x = __hmm_half_value(number);                                                  \
        return HMM_HALF_OF(result);                                                                \
    }                                                                                              \
    HMM_CUDA_BOTH HMM_HALF2 name2(HMM_HALF2 pair) {                                                \
        return HMM_HALF2(name(pair.x), name(pair.y));                                              \
    }
#define HMM_HALF_PAIRS(name, name2)                                                                \
    HMM_CUDA_BOTH HMM_HALF2 name2(HMM_HALF2 a, HMM_HALF2 b) {                                      \
        return HMM_HALF2(name(a.x, b.x), name(a.y, b.y));                                          \
    }
#define HMM_HALF_TWO(name, name2, operation)                                                       \
    HMM_CUDA_BOTH HMM_HALF name(HMM_HALF a, HMM_HALF b) {                                          \
        return HMM_HALF_OF(__hmm_half_value(a) operation __hmm_half_value(b));                     \
    }                                                                                              \
    HMM_HALF_PAIRS(name, name2)

/* Arithmetic. */
HMM_HALF_TWO(__hadd, __hadd2, +)
HMM_HALF_TWO(__hsub, __hsub2, -)
HMM_HALF_TWO(__hmul, __hmul2, *)
HMM_HALF_TWO(__hdiv, __h2div, /)
HMM_HALF_TWO(__hadd_rn, __hadd2_rn, +)
HMM_HALF_TWO(__hsub_rn, __hsub2_rn, -)
HMM_HALF_TWO(__hmul_rn, __hmul2_rn, *)
HMM_CUDA_BOTH HMM_HALF __hfma(HMM_HALF a, HMM_HALF b, HMM_HALF c) {
    const double product = static_cast<double>(__hmm_half_value(a)) * __hmm_half_value(b);
    return HMM_HALF_OF(__hmm_add_to_odd(product, __hmm_half_value(c)));
}
HMM_CUDA_BOTH HMM_HALF __hneg(HMM_HALF x) {
    return HMM_HALF_RAW{static_cast<unsigned short>(x.__x ^ 0x8000)};
}
HMM_CUDA_BOTH HMM_HALF __habs(HMM_HALF x) {
    return HMM_HALF_RAW{static_cast<unsigned short>(x.__x & 0x7fff)};
}
HMM_CUDA_BOTH HMM_HALF2 __hneg2(HMM_HALF2 pair) {
    return HMM_HALF2(__hneg(pair.x), __hneg(pair.y));
}
HMM_CUDA_BOTH HMM_HALF2 __habs2(HMM_HALF2 pair) {
    return HMM_HALF2(__habs(pair.x), __habs(pair.y));
}

/* Kinds of numbers. */
HMM_CUDA_BOTH bool __hisnan(HMM_HALF x) {
    return (x.__x & 0x7fff) > HMM_HALF_FORMAT::infinity;
}
HMM_CUDA_BOTH int __hisinf(HMM_HALF x) {
    if ((x.__x & 0x7fff) != HMM_HALF_FORMAT::infinity) return 0;
    return (x.__x & 0x8000) != 0 ? -1 : 1;
}
HMM_CUDA_BOTH HMM_HALF __hmm_half_truth(HMM_HALF, bool truth) {
    return HMM_HALF_RAW{static_cast<unsigned short>(truth ? HMM_HALF_FORMAT::one : 0)};
}
HMM_CUDA_BOTH HMM_HALF2 __hisnan2(HMM_HALF2 pair) {
    return HMM_HALF2(__hmm_half_truth(pair.x, __hisnan(pair.x)),
                     __hmm_half_truth(pair.y, __hisnan(pair.y)));
}
HMM_CUDA_BOTH HMM_HALF __hmm_half_nan(HMM_HALF) {
    return HMM_HALF_RAW{0x7fff};
}

/* Clamped to [0, 1]; 0 for NaN. */
HMM_CUDA_BOTH HMM_HALF __hmm_saturated(HMM_HALF x) {
    const float value = __hmm_half_value(x);
    return value > 0.0F ? value < 1.0F ? x : __hmm_half_truth(x, true) : __hmm_half_truth(x, false);
}
HMM_CUDA_BOTH HMM_HALF __hmm_not_negative(HMM_HALF x) {
    if (__hisnan(x)) return __hmm_half_nan(x);
    return __hmm_half_value(x) > 0.0F ? x : __hmm_half_truth(x, false);
}
#define HMM_HALF_SATURATED(name)                                                                   \
    HMM_CUDA_BOTH HMM_HALF name##_sat(HMM_HALF a, HMM_HALF b) {                                    \
        return __hmm_saturated(name(a, b));                                                        \
    }                                                                                              \
    HMM_HALF_PAIRS(name##_sat, name##2_sat)
HMM_HALF_SATURATED(__hadd)
HMM_HALF_SATURATED(__hsub)
HMM_HALF_SATURATED(__hmul)
#undef HMM_HALF_SATURATED
HMM_CUDA_BOTH HMM_HALF __hfma_sat(HMM_HALF a, HMM_HALF b, HMM_HALF c) {
    return __hmm_saturated(__hfma(a, b, c));
}
HMM_CUDA_BOTH HMM_HALF __hfma_relu(HMM_HALF a, HMM_HALF b, HMM_HALF c) {
    return __hmm_not_negative(__hfma(a, b, c));
}
#define HMM_HALF_FMA2(name, name2)                                                                 \
    HMM_CUDA_BOTH HMM_HALF2 name2(HMM_HALF2 a, HMM_HALF2 b, HMM_HALF2 c) {                         \
        return HMM_HALF2(name(a.x, b.x, c.x), name(a.y, b.y, c.y));                                \
    }
HMM_HALF_FMA2(__hfma, __hfma2)
HMM_HALF_FMA2(__hfma_sat, __hfma2_sat)
HMM_HALF_FMA2(__hfma_relu, __hfma2_relu)
#undef HMM_HALF_FMA2
/* Complex numbers: a * b + c. */
HMM_CUDA_BOTH HMM_HALF2 __hcmadd(HMM_HALF2 a, HMM_HALF2 b, HMM_HALF2 c) {
    return HMM_HALF2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)),
                     __hfma(a.y, b.x, __hfma(a.x, b.y, c.y)));
}

/*
 * Comparisons. Those with u are true for NaN, too. For pairs there are results as
 * numbers, 1 and 0, as bits, and as one truth value for both.
 */
#define HMM_HALF_COMPARE(name, result)                                                             \
    HMM_CUDA_BOTH bool __h##name(HMM_HALF left, HMM_HALF right) {                                  \
        const float a = __hmm_half_value(left), b = __hmm_half_value(right);                       \
        return result;                                                                             \
    }                                                                                              \
    HMM_CUDA_BOTH HMM_HALF2 __h##name##2(HMM_HALF2 a, HMM_HALF2 b) {                               \
        return HMM_HALF2(__hmm_half_truth(a.x, __h##name(a.x, b.x)),                               \
                         __hmm_half_truth(a.y, __h##name(a.y, b.y)));                              \
    }                                                                                              \
    HMM_CUDA_BOTH unsigned int __h##name##2_mask(HMM_HALF2 a, HMM_HALF2 b) {                       \
        return (__h##name(a.x, b.x) ? 0xffffU : 0) | (__h##name(a.y, b.y) ? 0xffff0000U : 0);      \
    }                                                                                              \
    HMM_CUDA_BOTH bool __hb##name##2(HMM_HALF2 a, HMM_HALF2 b) {                                   \
        return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                         \
    }
HMM_HALF_COMPARE(eq, a == b)
HMM_HALF_COMPARE(ne, a<b || a> b)
HMM_HALF_COMPARE(lt, a < b)
HMM_HALF_COMPARE(le, a <= b)
HMM_HALF_COMPARE(gt, a > b)
HMM_HALF_COMPARE(ge, a >= b)
HMM_HALF_COMPARE(equ, !(a < b || a > b))
HMM_HALF_COMPARE(neu, a != b)
HMM_HALF_COMPARE(ltu, !(a >= b))
HMM_HALF_COMPARE(leu, !(a > b))
HMM_HALF_COMPARE(gtu, !(a <= b))
HMM_HALF_COMPARE(geu, !(a < b))
#undef HMM_HALF_COMPARE

/* -0 is less than 0. With _nan, NaN is returned; otherwise the other operand. */
HMM_CUDA_BOTH HMM_HALF __hmax(HMM_HALF a, HMM_HALF b) {
    if (__hisnan(a)) return __hisnan(b) ? __hmm_half_nan(a) : b;
    if (__heq(a, b)) return (a.__x & 0x8000) != 0 ? b : a;
    return __hlt(a, b) ? b : a;
}
HMM_CUDA_BOTH HMM_HALF __hmin(HMM_HALF a, HMM_HALF b) {
    if (__hisnan(a)) return __hisnan(b) ? __hmm_half_nan(a) : b;
    if (__heq(a, b)) return (a.__x & 0x8000) != 0 ? a : b;
    return __hgt(a, b) ? b : a;
}
HMM_CUDA_BOTH HMM_HALF __hmax_nan(HMM_HALF a, HMM_HALF b) {
    return __hisnan(a) || __hisnan(b) ? __hmm_half_nan(a) : __hmax(a, b);
}
HMM_CUDA_BOTH HMM_HALF __hmin_nan(HMM_HALF a, HMM_HALF b) {
    return __hisnan(a) || __hisnan(b) ? __hmm_half_nan(a) : __hmin(a, b);
}
HMM_HALF_PAIRS(__hmax, __hmax2)
HMM_HALF_PAIRS(__hmin, __hmin2)
HMM_HALF_PAIRS(__hmax_nan, __hmax2_nan)
HMM_HALF_PAIRS(__hmin_nan, __hmin2_nan)

/* Functions of the math library. */
HMM_HALF_ONE(hsqrt, h2sqrt, sqrtf(x))
HMM_HALF_ONE(hrsqrt, h2rsqrt, 1.0 / sqrt(static_cast<double>(x)))
HMM_HALF_ONE(hrcp, h2rcp, 1.0F / x)
HMM_HALF_ONE(hlog, h2log, logf(x))
HMM_HALF_ONE(hlog2, h2log2, log2f(x))
HMM_HALF_ONE(hlog10, h2log10, log10f(x))
HMM_HALF_ONE(hexp, h2exp, expf(x))
HMM_HALF_ONE(hexp2, h2exp2, exp2f(x))
HMM_HALF_ONE(hexp10, h2exp10, exp10f(x))
HMM_HALF_ONE(hsin, h2sin, sinf(x))
HMM_HALF_ONE(hcos, h2cos, cosf(x))
HMM_HALF_ONE(htanh, h2tanh, tanhf(x))
HMM_HALF_ONE(htanh_approx, h2tanh_approx, tanhf(x))
HMM_HALF_ONE(hceil, h2ceil, ceilf(x))
HMM_HALF_ONE(hfloor, h2floor, floorf(x))
HMM_HALF_ONE(htrunc, h2trunc, truncf(x))
HMM_HALF_ONE(hrint, h2rint, rintf(x))

/* Operators. */
#define HMM_HALF_OPERATORS(Type, add, subtract, multiply, divide, negative, one)                   \
    HMM_CUDA_BOTH Type operator+(const Type& a, const Type& b) {                                   \
        return add(a, b);                                                                          \
    }                                                                                              \
    HMM_CUDA_BOTH Type operator-(const Type& a, const Type& b) {                                   \
        return subtract(a, b);                                                                     \
    }                                                                                              \
    HMM_CUDA_BOTH Type operator*(const Type& a, const Type& b) {                                   \
        return multiply(a, b);                                                                     \
    }                                                                                              \
    HMM_CUDA_BOTH Type operator/(const Type& a, const Type& b) {                                   \
        return divide(a, b);                                                                       \
    }                                                                                              \
    HMM_CUDA_BOTH Type& operator+=(Type& a, const Type& b) {                                       \
        return a = add(a, b);                                                                      \
    }                                                                                              \
    HMM_CUDA_BOTH Type& operator-=(Type& a, const Type& b) {                                       \
        return a = subtract(a, b);                                                                 \
    }                                                                                              \
    HMM_CUDA_BOTH Type& operator*=(Type& a, const Type& b) {                                       \
        return a = multiply(a, b);                                                                 \
    }                                                                                              \
    HMM_CUDA_BOTH Type& operator/=(Type& a, const Type& b) {                                       \
        return a = divide(a, b);                                                                   \
    }                                                                                              \
    HMM_CUDA_BOTH Type operator+(const Type& a) {                                                  \
        return a;                                                                                  \
    }                                                                                              \
    HMM_CUDA_BOTH Type operator-(const Type& a) {                                                  \
        return negative(a);                                                                        \
    }                                                                                              \
    HMM_CUDA_BOTH Type& operator++(Type& a) {                                                      \
        return a = add(a, one);                                                                    \
    }                                                                                              \
    HMM_CUDA_BOTH Type& operator--(Type& a) {                                                      \
        return a = subtract(a, one);                                                               \
    }                                                                                              \
    HMM_CUDA_BOTH Type operator++(Type& a, int) {                                                  \
        const Type before = a;                                                                     \
        ++a;                                                                                       \
        return before;                                                                             \
    }                                                                                              \
    HMM_CUDA_BOTH Type operator--(Type& a, int) {                                                  \
        const Type before = a;                                                                     \
        --a;                                                                                       \
        return before;                                                                             \
    }
#ifndef HMM_HALF_NO_OPERATORS
HMM_HALF_OPERATORS(HMM_HALF, __hadd, __hsub, __hmul, __hdiv, __hneg, HMM_HALF_OF(1.0F))
#endif
#ifndef HMM_HALF2_NO_OPERATORS
HMM_HALF_OPERATORS(HMM_HALF2, __hadd2, __hsub2, __hmul2, __h2div, __hneg2,
                   HMM_HALF2(HMM_HALF_OF(1.0F), HMM_HALF_OF(1.0F)))
#endif
#undef HMM_HALF_OPERATORS
#define HMM_HALF_COMPARES(Type, equal, unequal, less, at_most, greater, at_least)                  \
    HMM_HALF_COMPARE(Type, ==, equal)                                                              \
    HMM_HALF_COMPARE(Type, !=, unequal)                                                            \
    HMM_HALF_COMPARE(Type, <, less)                                                                \
    HMM_HALF_COMPARE(Type, <=, at_most)                                                            \
    HMM_HALF_COMPARE(Type, >, greater)                                                             \
    HMM_HALF_COMPARE(Type, >=, at_least)
#define HMM_HALF_COMPARE(Type, operation, compare)                                                 \
    HMM_CUDA_BOTH bool operator operation(const Type& a, const Type& b) {                          \
        return compare(a, b);                                                                      \
    }
#ifndef HMM_HALF_NO_OPERATORS
HMM_HALF_COMPARES(HMM_HALF, __heq, __hneu, __hlt, __hle, __hgt, __hge)
#endif
#ifndef HMM_HALF2_NO_OPERATORS
HMM_HALF_COMPARES(HMM_HALF2, __hbeq2, __hbneu2, __hblt2, __hble2, __hbgt2, __hbge2)
#endif
#undef HMM_HALF_COMPARES
#undef HMM_HALF_COMPARE

HMM_CUDA_EXACT_END

#ifdef __CUDA__
/* Operations of warps. */
#define HMM_HALF_SHUFFLE(Type, Bits, name, Which)                                                  \
    HMM_CUDA_DEVICE Type name(unsigned int mask, Type value, Which which, int width = 32) {        \
        return __hmm_bits_as<Type>(name(mask, __hmm_bits_as<Bits>(value), which, width));          \
    }
#define HMM_HALF_SHUFFLES(Type, Bits)                                                              \
    HMM_HALF_SHUFFLE(Type, Bits, __shfl_sync, int)                                                 \
    HMM_HALF_SHUFFLE(Type, Bits, __shfl_up_sync, unsigned int)                                     \
    HMM_HALF_SHUFFLE(Type, Bits, __shfl_down_sync, unsigned int)                                   \
    HMM_HALF_SHUFFLE(Type, Bits, __shfl_xor_sync, int)
HMM_HALF_SHUFFLES(HMM_HALF, unsigned short)
HMM_HALF_SHUFFLES(HMM_HALF2, unsigned int)
#undef HMM_HALF_SHUFFLES
#undef HMM_HALF_SHUFFLE

/* The templates need operators. */
#define HMM_HALF_ATOMIC_ADD(Type, add)                                                             \
    HMM_CUDA_DEVICE Type atomicAdd(Type* address, Type value) {                                    \
        return __hmm_atomic_change(address, [=](Type old) -> Type { return add(old, value); });    \
    }
HMM_HALF_ATOMIC_ADD(HMM_HALF, __hadd)
HMM_HALF_ATOMIC_ADD(HMM_HALF2, __hadd2)
#undef HMM_HALF_ATOMIC_ADD
#endif

#undef HMM_HALF_OF
#undef HMM_HALF_TWO
#undef HMM_HALF_PAIRS
#undef HMM_HALF_ONE
