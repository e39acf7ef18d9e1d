/* SPDX-License-Identifier: MIT */
/*
 * Functions of words that have two halfwords (their names end with 2) or four
 * bytes (4), each of which is a number of its own. s is for numbers with a sign,
 * u for those without; ss and us give the nearest that fits.
 */
#ifndef HMM_CUDA_DEVICE_SIMD_H
#define HMM_CUDA_DEVICE_SIMD_H

#include "device_keywords.h"

#include <limits>

/* The part @i of a word, and a word with that part. */
template <class Part>
HMM_CUDA_BOTH int __hmm_part(unsigned int word, unsigned int i) {
    return static_cast<Part>(word >> 8 * sizeof(Part) * i);
}
template <class Part>
HMM_CUDA_BOTH unsigned int __hmm_as_part(int value, unsigned int i) {
    constexpr unsigned int mask = 0xffffffffU >> (32 - 8 * sizeof(Part));
    return (static_cast<unsigned int>(value) & mask) << 8 * sizeof(Part) * i;
}
template <class Part>
HMM_CUDA_BOTH int __hmm_nearest_part(int value) {
    constexpr int first = std::numeric_limits<Part>::min(), last = std::numeric_limits<Part>::max();
    return value < first ? first : value > last ? last : value;
}

/* Functions of one and of two words: @result is of each pair of parts, a and b. */
#define HMM_CUDA_PARTS(name, count, Part, result)                                                  \
    HMM_CUDA_BOTH unsigned int name##count(unsigned int first, unsigned int second) {              \
        unsigned int all = 0;                                                                      \
        for (unsigned int i = 0; i < count; i++) {                                                 \
            const int a = __hmm_part<Part>(first, i), b = __hmm_part<Part>(second, i);             \
            all |= __hmm_as_part<Part>(result, i);                                                 \
        }                                                                                          \
        return all;                                                                                \
    }
#define HMM_CUDA_PART(name, count, Part, result)                                                   \
    HMM_CUDA_BOTH unsigned int name##count(unsigned int word) {                                    \
        unsigned int all = 0;                                                                      \
        for (unsigned int i = 0; i < count; i++) {                                                 \
            const int a = __hmm_part<Part>(word, i);                                               \
            all |= __hmm_as_part<Part>(result, i);                                                 \
        }                                                                                          \
        return all;                                                                                \
    }
#define HMM_CUDA_SUM_OF_PARTS(name, count, Part, result)                                           \
    HMM_CUDA_BOTH unsigned int name##count(unsigned int first, unsigned int second) {              \
        unsigned int sum = 0;                                                                      \
        for (unsigned int i = 0; i < count; i++) {                                                 \
            const int a = __hmm_part<Part>(first, i), b = __hmm_part<Part>(second, i);             \
            sum += static_cast<unsigned int>(result);                                              \
        }                                                                                          \
        return sum;                                                                                \
    }

/* @define for both sizes, with and without a sign. */
#define HMM_CUDA_SIGNED(define, name, result)                                                      \
    define(name, 2, short, result) define(name, 4, signed char, result)
#define HMM_CUDA_UNSIGNED(define, name, result)                                                    \
    define(name, 2, unsigned short, result) define(name, 4, unsigned char, result)
#define HMM_CUDA_SIGNED_NEAREST(define, name, result)                                              \
    define(name, 2, short, __hmm_nearest_part<short>(result))                                      \
        define(name, 4, signed char, __hmm_nearest_part<signed char>(result))
#define HMM_CUDA_UNSIGNED_NEAREST(define, name, result)                                            \
    define(name, 2, unsigned short, __hmm_nearest_part<unsigned short>(result))                    \
        define(name, 4, unsigned char, __hmm_nearest_part<unsigned char>(result))
#define HMM_CUDA_WITH_AND_WITHOUT(define, name, result)                                            \
    HMM_CUDA_SIGNED(define, name##s, result) HMM_CUDA_UNSIGNED(define, name##u, result)

HMM_CUDA_SIGNED(HMM_CUDA_PART, __vabs, a < 0 ? -a : a)
HMM_CUDA_SIGNED(HMM_CUDA_PART, __vneg, -a)
HMM_CUDA_SIGNED_NEAREST(HMM_CUDA_PART, __vabsss, a < 0 ? -a : a)
HMM_CUDA_SIGNED_NEAREST(HMM_CUDA_PART, __vnegss, -a)

HMM_CUDA_UNSIGNED(HMM_CUDA_PARTS, __vadd, a + b)
HMM_CUDA_UNSIGNED(HMM_CUDA_PARTS, __vsub, a - b)
HMM_CUDA_SIGNED_NEAREST(HMM_CUDA_PARTS, __vaddss, a + b)
HMM_CUDA_SIGNED_NEAREST(HMM_CUDA_PARTS, __vsubss, a - b)
HMM_CUDA_UNSIGNED_NEAREST(HMM_CUDA_PARTS, __vaddus, a + b)
HMM_CUDA_UNSIGNED_NEAREST(HMM_CUDA_PARTS, __vsubus, a - b)

/* Averages, rounded up but for __vhaddu. */
HMM_CUDA_SIGNED(HMM_CUDA_PARTS, __vavgs, (a + b + (a + b >= 0)) >> 1)
HMM_CUDA_UNSIGNED(HMM_CUDA_PARTS, __vavgu, (a + b + 1) >> 1)
HMM_CUDA_UNSIGNED(HMM_CUDA_PARTS, __vhaddu, (a + b) >> 1)

HMM_CUDA_WITH_AND_WITHOUT(HMM_CUDA_PARTS, __vmax, a < b ? b : a)
HMM_CUDA_WITH_AND_WITHOUT(HMM_CUDA_PARTS, __vmin, b < a ? b : a)
HMM_CUDA_WITH_AND_WITHOUT(HMM_CUDA_PARTS, __vabsdiff, a < b ? b - a : a - b)
HMM_CUDA_WITH_AND_WITHOUT(HMM_CUDA_SUM_OF_PARTS, __vsad, a < b ? b - a : a - b)

/* Comparisons give all bits of a part with __vcmp, and 1 with __vset. */
#define HMM_CUDA_COMPARE_ALIKE(comparison, operation)                                              \
    HMM_CUDA_UNSIGNED(HMM_CUDA_PARTS, __vcmp##comparison, -static_cast<int>(a operation b))        \
    HMM_CUDA_UNSIGNED(HMM_CUDA_PARTS, __vset##comparison, a operation b)
#define HMM_CUDA_COMPARE(comparison, operation)                                                    \
    HMM_CUDA_WITH_AND_WITHOUT(HMM_CUDA_PARTS, __vcmp##comparison,                                  \
                              -static_cast<int>(a operation b))                                    \
    HMM_CUDA_WITH_AND_WITHOUT(HMM_CUDA_PARTS, __vset##comparison, a operation b)
HMM_CUDA_COMPARE_ALIKE(eq, ==)
HMM_CUDA_COMPARE_ALIKE(ne, !=)
HMM_CUDA_COMPARE(lt, <)
HMM_CUDA_COMPARE(le, <=)
HMM_CUDA_COMPARE(gt, >)
HMM_CUDA_COMPARE(ge, >=)

#undef HMM_CUDA_COMPARE
#undef HMM_CUDA_COMPARE_ALIKE
#undef HMM_CUDA_WITH_AND_WITHOUT
#undef HMM_CUDA_UNSIGNED_NEAREST
#undef HMM_CUDA_SIGNED_NEAREST
#undef HMM_CUDA_UNSIGNED
#undef HMM_CUDA_SIGNED
#undef HMM_CUDA_SUM_OF_PARTS
#undef HMM_CUDA_PART
#undef HMM_CUDA_PARTS

#endif /* HMM_CUDA_DEVICE_SIMD_H */
