/* SPDX-License-Identifier: MIT */
/*
 * The types of one format, and conversions. cuda_fp16.h and cuda_bf16.h include
 * this with their names:
 *
 *  HMM_HALF, HMM_HALF2            the types
 *  HMM_HALF_RAW, HMM_HALF2_RAW    their bits, as plain structs
 *  HMM_HALF_FORMAT                of format.h
 *  HMM_HALF_NAMED(a, b)           a##half##b, of functions
 *  HMM_HALF2_NAMED(a, b)          a##half2##b
 *  HMM_HALF_PAIRED(a, b)          a##half##2##half2##b
 *  HMM_HALF_NO_CONVERSIONS        defined: of the types only; functions are there
 */

HMM_CUDA_EXACT

struct __align__(2) HMM_HALF_RAW {
    unsigned short x;
};
struct __align__(4) HMM_HALF2_RAW {
    unsigned short x, y;
};

/* Programs write half x = 1 and float y = x. */
// NOLINTBEGIN(google-explicit-constructor)
struct __align__(2) HMM_HALF {
    unsigned short __x;

    HMM_HALF() = default;
    HMM_CUDA_BOTH_MEMBER HMM_HALF(const HMM_HALF_RAW& raw) : __x(raw.x) {}
    HMM_CUDA_BOTH_MEMBER operator HMM_HALF_RAW() const {
        return HMM_HALF_RAW{__x};
    }
#ifndef HMM_HALF_NO_CONVERSIONS
    HMM_CUDA_BOTH_MEMBER HMM_HALF(float x) : __x(__hmm_half_bits<HMM_HALF_FORMAT>(x)) {}
    HMM_CUDA_BOTH_MEMBER HMM_HALF(double x) : __x(__hmm_half_bits<HMM_HALF_FORMAT>(x)) {}
    HMM_CUDA_BOTH_MEMBER operator float() const {
        return HMM_HALF_FORMAT::value(__x);
    }
    HMM_CUDA_BOTH_MEMBER operator bool() const {
        return (__x & 0x7fff) != 0;
    }
#define HMM_HALF_WHOLE(Whole)                                                                      \
    HMM_CUDA_BOTH_MEMBER HMM_HALF(Whole x)                                                         \
        : __x(__hmm_half_bits<HMM_HALF_FORMAT>(__hmm_whole_to_odd<Whole>(x))) {}                   \
    HMM_CUDA_BOTH_MEMBER operator Whole() const {                                                  \
        return __hmm_to_whole<Whole, __hmm_rz>(HMM_HALF_FORMAT::value(__x));                       \
    }
    HMM_HALF_WHOLE(char)
    HMM_HALF_WHOLE(signed char)
    HMM_HALF_WHOLE(unsigned char)
    HMM_HALF_WHOLE(short)
    HMM_HALF_WHOLE(unsigned short)
    HMM_HALF_WHOLE(int)
    HMM_HALF_WHOLE(unsigned int)
    HMM_HALF_WHOLE(long)
    HMM_HALF_WHOLE(unsigned long)
    HMM_HALF_WHOLE(long long)
    HMM_HALF_WHOLE(unsigned long long)
#undef HMM_HALF_WHOLE
#endif
};

struct __align__(4) HMM_HALF2 {
    HMM_HALF x, y;

    HMM_HALF2() = default;
    HMM_CUDA_BOTH_MEMBER HMM_HALF2(const HMM_HALF& low, const HMM_HALF& high) : x(low), y(high) {}
    HMM_CUDA_BOTH_MEMBER HMM_HALF2(const HMM_HALF2_RAW& raw)
        : x(HMM_HALF_RAW{raw.x}), y(HMM_HALF_RAW{raw.y}) {}
    HMM_CUDA_BOTH_MEMBER operator HMM_HALF2_RAW() const {
        return HMM_HALF2_RAW{x.__x, y.__x};
    }
};
// NOLINTEND(google-explicit-constructor)

/* Bits. */
HMM_CUDA_BOTH HMM_HALF HMM_HALF_NAMED(__ushort_as_, )(unsigned short bits) {
    return HMM_HALF_RAW{bits};
}
HMM_CUDA_BOTH HMM_HALF HMM_HALF_NAMED(__short_as_, )(short bits) {
    return HMM_HALF_RAW{static_cast<unsigned short>(bits)};
}
HMM_CUDA_BOTH unsigned short HMM_HALF_NAMED(__, _as_ushort)(HMM_HALF x) {
    return x.__x;
}
HMM_CUDA_BOTH short HMM_HALF_NAMED(__, _as_short)(HMM_HALF x) {
    return static_cast<short>(x.__x);
}

/* Numbers. */
HMM_CUDA_BOTH HMM_HALF HMM_HALF_NAMED(__float2, )(float x) {
    return HMM_HALF_RAW{__hmm_half_bits<HMM_HALF_FORMAT>(x)};
}
HMM_CUDA_BOTH HMM_HALF HMM_HALF_NAMED(__double2, )(double x) {
    return HMM_HALF_RAW{__hmm_half_bits<HMM_HALF_FORMAT>(x)};
}
HMM_CUDA_BOTH float HMM_HALF_NAMED(__, 2float)(HMM_HALF x) {
    return HMM_HALF_FORMAT::value(x.__x);
}
#define HMM_HALF_FROM_FLOAT(mode, ...)                                                             \
    HMM_CUDA_BOTH HMM_HALF HMM_HALF_NAMED(__float2, _##mode)(float x) {                            \
        return HMM_HALF_RAW{__hmm_half_bits<HMM_HALF_FORMAT, __hmm_##mode>(x)};                    \
    }
HMM_CUDA_ROUNDED(HMM_HALF_FROM_FLOAT, )
#undef HMM_HALF_FROM_FLOAT
#define HMM_HALF_WHOLE(mode, whole, Whole)                                                         \
    HMM_CUDA_BOTH HMM_HALF HMM_HALF_NAMED(__##whole##2, _##mode)(Whole x) {                        \
        const double odd = __hmm_whole_to_odd<Whole>(x);                                           \
        return HMM_HALF_RAW{__hmm_half_bits<HMM_HALF_FORMAT, __hmm_##mode>(odd)};                  \
    }                                                                                              \
    HMM_CUDA_BOTH Whole HMM_HALF_NAMED(__, 2##whole##_##mode)(HMM_HALF x) {                        \
        return __hmm_to_whole<Whole, __hmm_##mode>(HMM_HALF_FORMAT::value(x.__x));                 \
    }
HMM_CUDA_ROUNDED(HMM_HALF_WHOLE, short, short)
HMM_CUDA_ROUNDED(HMM_HALF_WHOLE, ushort, unsigned short)
HMM_CUDA_ROUNDED(HMM_HALF_WHOLE, int, int)
HMM_CUDA_ROUNDED(HMM_HALF_WHOLE, uint, unsigned int)
HMM_CUDA_ROUNDED(HMM_HALF_WHOLE, ll, long long)
HMM_CUDA_ROUNDED(HMM_HALF_WHOLE, ull, unsigned long long)
#undef HMM_HALF_WHOLE
HMM_CUDA_BOTH signed char HMM_HALF_NAMED(__, 2char_rz)(HMM_HALF x) {
    return __hmm_to_whole<signed char, __hmm_rz>(HMM_HALF_FORMAT::value(x.__x));
}
HMM_CUDA_BOTH unsigned char HMM_HALF_NAMED(__, 2uchar_rz)(HMM_HALF x) {
    return __hmm_to_whole<unsigned char, __hmm_rz>(HMM_HALF_FORMAT::value(x.__x));
}

/* Pairs; the low one is x. */
HMM_CUDA_BOTH HMM_HALF2 HMM_HALF2_NAMED(make_, )(HMM_HALF low, HMM_HALF high) {
    return HMM_HALF2(low, high);
}
HMM_CUDA_BOTH HMM_HALF2 HMM_HALF2_NAMED(__halves2, )(HMM_HALF low, HMM_HALF high) {
    return HMM_HALF2(low, high);
}
HMM_CUDA_BOTH HMM_HALF2 HMM_HALF_PAIRED(__, )(HMM_HALF x) {
    return HMM_HALF2(x, x);
}
HMM_CUDA_BOTH HMM_HALF2 HMM_HALF2_NAMED(__floats2, _rn)(float low, float high) {
    return HMM_HALF2(HMM_HALF_NAMED(__float2, )(low), HMM_HALF_NAMED(__float2, )(high));
}
HMM_CUDA_BOTH HMM_HALF2 HMM_HALF2_NAMED(__float2, _rn)(float x) {
    return HMM_HALF2_NAMED(__floats2, _rn)(x, x);
}
HMM_CUDA_BOTH HMM_HALF2 HMM_HALF2_NAMED(__float22, _rn)(float2 pair) {
    return HMM_HALF2_NAMED(__floats2, _rn)(pair.x, pair.y);
}
HMM_CUDA_BOTH float __low2float(HMM_HALF2 pair) {
    return HMM_HALF_FORMAT::value(pair.x.__x);
}
HMM_CUDA_BOTH float __high2float(HMM_HALF2 pair) {
    return HMM_HALF_FORMAT::value(pair.y.__x);
}
HMM_CUDA_BOTH float2 HMM_HALF2_NAMED(__, 2float2)(HMM_HALF2 pair) {
    return make_float2(__low2float(pair), __high2float(pair));
}
HMM_CUDA_BOTH HMM_HALF HMM_HALF_NAMED(__low2, )(HMM_HALF2 pair) {
    return pair.x;
}
HMM_CUDA_BOTH HMM_HALF HMM_HALF_NAMED(__high2, )(HMM_HALF2 pair) {
    return pair.y;
}
HMM_CUDA_BOTH HMM_HALF2 HMM_HALF2_NAMED(__low2, )(HMM_HALF2 pair) {
    return HMM_HALF2(pair.x, pair.x);
}
HMM_CUDA_BOTH HMM_HALF2 HMM_HALF2_NAMED(__high2, )(HMM_HALF2 pair) {
    return HMM_HALF2(pair.y, pair.y);
}
HMM_CUDA_BOTH HMM_HALF2 __lowhigh2highlow(HMM_HALF2 pair) {
    return HMM_HALF2(pair.y, pair.x);
}
HMM_CUDA_BOTH HMM_HALF2 HMM_HALF2_NAMED(__lows2, )(HMM_HALF2 a, HMM_HALF2 b) {
    return HMM_HALF2(a.x, b.x);
}
HMM_CUDA_BOTH HMM_HALF2 HMM_HALF2_NAMED(__highs2, )(HMM_HALF2 a, HMM_HALF2 b) {
    return HMM_HALF2(a.y, b.y);
}

HMM_CUDA_EXACT_END
