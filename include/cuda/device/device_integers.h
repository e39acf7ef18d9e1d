/* SPDX-License-Identifier: MIT */
/* Functions of whole numbers, and of their bits and bytes. */
#ifndef HMM_CUDA_DEVICE_INTEGERS_H
#define HMM_CUDA_DEVICE_INTEGERS_H

#include "../vector_types.h"
#include "device_keywords.h"

/* Bits. */
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
/*
 * The place of a bit of @mask: of the first from @base on upwards for @offset 1,
 * of the second for 2, and downwards for negative ones. 0 asks for @base itself.
 */
HMM_CUDA_BOTH unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
    const int step = offset < 0 ? -1 : 1;
    int missing = offset == 0 ? 1 : offset * step;
    for (unsigned int place = base; place < 32; place += step) {
        if ((mask >> place & 1) != 0 && --missing == 0) return place;
        if (offset == 0) break;
    }
    return 0xffffffffU;
}

/* Of two words, @high and @low, that are shifted together. */
HMM_CUDA_BOTH unsigned int __funnelshift_l(unsigned int low, unsigned int high,
                                           unsigned int shift) {
    const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
    return static_cast<unsigned int>(both << (shift & 31) >> 32);
}
HMM_CUDA_BOTH unsigned int __funnelshift_r(unsigned int low, unsigned int high,
                                           unsigned int shift) {
    const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
    return static_cast<unsigned int>(both >> (shift & 31));
}
HMM_CUDA_BOTH unsigned int __funnelshift_lc(unsigned int low, unsigned int high,
                                            unsigned int shift) {
    return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
HMM_CUDA_BOTH unsigned int __funnelshift_rc(unsigned int low, unsigned int high,
                                            unsigned int shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}

/* Each of the lower four digits of @selector names a byte of @x (0 to 3) or @y (4 to 7). */
HMM_CUDA_BOTH unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
    const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
    unsigned int result = 0;
    for (unsigned int i = 0; i < 4; i++) {
        const unsigned int place = selector >> 4 * i & 7;
        result |= static_cast<unsigned int>(both >> 8 * place & 0xff) << 8 * i;
    }
    return result;
}

/* Products. */
HMM_CUDA_BOTH int __mul24(int a, int b) {
    const unsigned int x = static_cast<unsigned int>(static_cast<int>(a * 256U) >> 8);
    return static_cast<int>(x * static_cast<unsigned int>(static_cast<int>(b * 256U) >> 8));
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
HMM_CUDA_BOTH long long __mul64hi(long long a, long long b) {
    return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
HMM_CUDA_BOTH unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}

/* Averages, rounded down; those with r are rounded up. */
HMM_CUDA_BOTH int __hadd(int a, int b) {
    return static_cast<int>((static_cast<long long>(a) + b) >> 1);
}
HMM_CUDA_BOTH int __rhadd(int a, int b) {
    return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}
HMM_CUDA_BOTH unsigned int __uhadd(unsigned int a, unsigned int b) {
    return static_cast<unsigned int>((static_cast<unsigned long long>(a) + b) >> 1);
}
HMM_CUDA_BOTH unsigned int __urhadd(unsigned int a, unsigned int b) {
    return static_cast<unsigned int>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}

/* The distance of @a and @b, added to @c. */
HMM_CUDA_BOTH unsigned int __usad(unsigned int a, unsigned int b, unsigned int c) {
    return (a < b ? b - a : a - b) + c;
}
HMM_CUDA_BOTH unsigned int __sad(int a, int b, unsigned int c) {
    return static_cast<unsigned int>(a < b ? static_cast<long long>(b) - a
                                           : static_cast<long long>(a) - b) +
           c;
}

/* Sums of products of bytes, which are added to @sum. */
HMM_CUDA_BOTH int __dp4a(char4 a, char4 b, int sum) {
    return static_cast<int>(
        static_cast<unsigned int>(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w) + sum);
}
HMM_CUDA_BOTH unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int sum) {
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w + sum;
}
HMM_CUDA_BOTH int __dp2a_lo(short2 a, char4 b, int sum) {
    return static_cast<int>(static_cast<unsigned int>(a.x * b.x + a.y * b.y) + sum);
}
HMM_CUDA_BOTH int __dp2a_hi(short2 a, char4 b, int sum) {
    return static_cast<int>(static_cast<unsigned int>(a.x * b.z + a.y * b.w) + sum);
}
HMM_CUDA_BOTH unsigned int __dp2a_lo(ushort2 a, uchar4 b, unsigned int sum) {
    return a.x * b.x + a.y * b.y + sum;
}
HMM_CUDA_BOTH unsigned int __dp2a_hi(ushort2 a, uchar4 b, unsigned int sum) {
    return a.x * b.z + a.y * b.w + sum;
}
template <class Vector>
HMM_CUDA_BOTH Vector __hmm_parts(unsigned int word) {
    Vector parts;
    __builtin_memcpy(&parts, &word, sizeof(parts));
    return parts;
}
#define HMM_CUDA_DOT(name, Whole, First, Second)                                                   \
    HMM_CUDA_BOTH Whole name(Whole a, Whole b, Whole sum) {                                        \
        return name(__hmm_parts<First>(a), __hmm_parts<Second>(b), sum);                           \
    }
HMM_CUDA_DOT(__dp4a, int, char4, char4)
HMM_CUDA_DOT(__dp4a, unsigned int, uchar4, uchar4)
HMM_CUDA_DOT(__dp2a_lo, int, short2, char4)
HMM_CUDA_DOT(__dp2a_lo, unsigned int, ushort2, uchar4)
HMM_CUDA_DOT(__dp2a_hi, int, short2, char4)
HMM_CUDA_DOT(__dp2a_hi, unsigned int, ushort2, uchar4)
#undef HMM_CUDA_DOT

#endif /* HMM_CUDA_DEVICE_INTEGERS_H */
