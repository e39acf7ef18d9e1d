/* SPDX-License-Identifier: MIT */
/*
 * Operations of warps. A thread waits until all threads of its mask that have
 * not ended are at the same operation.
 */
#ifndef HMM_CUDA_DEVICE_WARPS_H
#define HMM_CUDA_DEVICE_WARPS_H

#include "device_index.h"
#include "device_keywords.h"

/* hmmcc splits kernels at calls of these. */
extern "C" {
__device__ void __hmm_warp_barrier(unsigned int mask)
    __attribute__((convergent, nothrow, noduplicate));
/* The value that the lane @source gave. */
__device__ unsigned long long __hmm_warp_exchange(unsigned int mask, unsigned long long value,
                                                  unsigned int source)
    __attribute__((convergent, nothrow, noduplicate));
__device__ unsigned int __hmm_warp_exchange32(unsigned int mask, unsigned int value,
                                              unsigned int source)
    __attribute__((convergent, nothrow, noduplicate));
/* With @valid, the value that the lane at this distance gave, else the own one. */
__device__ unsigned long long __hmm_warp_shift(unsigned int mask, unsigned long long value,
                                               int distance, unsigned int valid)
    __attribute__((convergent, nothrow, noduplicate));
__device__ unsigned int __hmm_warp_shift32(unsigned int mask, unsigned int value, int distance,
                                           unsigned int valid)
    __attribute__((convergent, nothrow, noduplicate));
/* The lanes of @mask with a condition that is not 0. */
__device__ unsigned long long __hmm_warp_ballot(unsigned int mask, unsigned long long condition)
    __attribute__((convergent, nothrow, noduplicate));
/* The lanes of @mask with the same value. */
__device__ unsigned long long __hmm_warp_match(unsigned int mask, unsigned long long value)
    __attribute__((convergent, nothrow, noduplicate));
/* The lanes that are here. */
__device__ unsigned long long __hmm_warp_active(void)
    __attribute__((convergent, nothrow, noduplicate));
}

HMM_CUDA_DEVICE unsigned int __hmm_lane() {
    return __hmm_thread_rank() % 32;
}

template <class T>
HMM_CUDA_DEVICE unsigned long long __hmm_to_bits(T value) {
    static_assert(sizeof(T) <= sizeof(unsigned long long) && std::is_arithmetic_v<T>,
                  "warp operations support arithmetic types of up to 64 bits");
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof(T));
    return bits;
}
template <class T>
HMM_CUDA_DEVICE T __hmm_from_bits(unsigned long long bits) {
    T value;
    memcpy(&value, &bits, sizeof(T));
    return value;
}
template <class T>
HMM_CUDA_DEVICE T __hmm_shuffle(unsigned int mask, T value, unsigned int source) {
    if constexpr (sizeof(T) <= sizeof(unsigned int))
        return __hmm_from_bits<T>(
            __hmm_warp_exchange32(mask, static_cast<unsigned int>(__hmm_to_bits(value)), source));
    else
        return __hmm_from_bits<T>(__hmm_warp_exchange(mask, __hmm_to_bits(value), source));
}

template <class T>
HMM_CUDA_DEVICE T __hmm_shift(unsigned int mask, T value, int distance, bool valid) {
    if constexpr (sizeof(T) <= sizeof(unsigned int))
        return __hmm_from_bits<T>(__hmm_warp_shift32(
            mask, static_cast<unsigned int>(__hmm_to_bits(value)), distance, valid));
    else
        return __hmm_from_bits<T>(__hmm_warp_shift(mask, __hmm_to_bits(value), distance, valid));
}
/* Of lanes. A longer distance ends outside of the warp, too. */
HMM_CUDA_DEVICE int __hmm_distance(unsigned int delta) {
    return delta < 32 ? static_cast<int>(delta) : 32;
}

template <class T>
HMM_CUDA_DEVICE T __shfl_sync(unsigned int mask, T value, int source, int width = 32) {
    const unsigned int within = static_cast<unsigned int>(width) - 1;
    const unsigned int first = __hmm_lane() & ~within;
    return __hmm_shuffle(mask, value, first | (static_cast<unsigned int>(source) & within));
}
template <class T>
HMM_CUDA_DEVICE T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = 32) {
    const int within = static_cast<int>(__hmm_lane() & (static_cast<unsigned int>(width) - 1));
    const int distance = __hmm_distance(delta);
    return __hmm_shift(mask, value, -distance, within >= distance);
}
template <class T>
HMM_CUDA_DEVICE T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = 32) {
    const int within = static_cast<int>(__hmm_lane() & (static_cast<unsigned int>(width) - 1));
    const int distance = __hmm_distance(delta);
    return __hmm_shift(mask, value, distance, within + distance < width);
}
template <class T>
HMM_CUDA_DEVICE T __shfl_xor_sync(unsigned int mask, T value, int lanes, int width = 32) {
    const unsigned int lane = __hmm_lane();
    const unsigned int source = lane ^ static_cast<unsigned int>(lanes);
    const unsigned int last = lane | (static_cast<unsigned int>(width) - 1);
    return __hmm_shuffle(mask, value, source <= last ? source : lane);
}

HMM_CUDA_DEVICE void __syncwarp(unsigned int mask = 0xffffffffU) {
    __hmm_warp_barrier(mask);
}
HMM_CUDA_DEVICE unsigned int __ballot_sync(unsigned int mask, int condition) {
    return static_cast<unsigned int>(__hmm_warp_ballot(mask, condition != 0));
}
HMM_CUDA_DEVICE int __any_sync(unsigned int mask, int condition) {
    return __hmm_warp_ballot(mask, condition != 0) != 0;
}
HMM_CUDA_DEVICE int __all_sync(unsigned int mask, int condition) {
    return __hmm_warp_ballot(mask, condition == 0) == 0;
}
HMM_CUDA_DEVICE unsigned int __activemask() {
    return static_cast<unsigned int>(__hmm_warp_active());
}
template <class T>
HMM_CUDA_DEVICE unsigned int __match_any_sync(unsigned int mask, T value) {
    return static_cast<unsigned int>(__hmm_warp_match(mask, __hmm_to_bits(value)));
}
template <class T>
HMM_CUDA_DEVICE unsigned int __match_all_sync(unsigned int mask, T value, int* same) {
    const unsigned int present = __ballot_sync(mask, 1);
    const unsigned int found = __match_any_sync(mask, value);
    *same = found == present;
    return *same ? found : 0;
}

/* Returns the value that the lane @source passed; objects can have any size. */
template <class T>
HMM_CUDA_DEVICE T __hmm_shuffle_object(unsigned int mask, const T& value, unsigned int source) {
    static_assert(std::is_trivially_copyable_v<T>,
                  "warp operations need a trivially copyable type");
    unsigned long long words[(sizeof(T) + 7) / 8] = {};
    memcpy(words, &value, sizeof(T));
    for (unsigned long long& word : words)
        word = __hmm_warp_exchange(mask, word, source);
    T result = value;
    memcpy(&result, words, sizeof(T));
    return result;
}

/*
 * Combines the values of the lanes of @mask that have not ended, in the order of
 * the lanes, and gives all of them the same. The mask is within a part of the
 * warp of @lanes, a power of two.
 */
template <class T, class Combine>
HMM_CUDA_DEVICE T __hmm_reduce(unsigned int mask, T value, Combine combine,
                               unsigned int lanes = 32) {
    const unsigned int lane = __hmm_lane();
    const unsigned int present = __ballot_sync(mask, 1);
    for (unsigned int bit = 1; bit < lanes; bit *= 2) {
        const unsigned int first = (lane ^ bit) & ~(bit - 1);
        const unsigned int others = present & ((1U << bit) - 1) << first;
        const unsigned int source = others != 0 ? __builtin_ctz(others) : lane;
        const T other = __hmm_shuffle_object(mask, value, source);
        if (others != 0) value = (lane & bit) != 0 ? combine(other, value) : combine(value, other);
    }
    return value;
}

#define HMM_CUDA_REDUCE(name, type, result)                                                        \
    HMM_CUDA_DEVICE type name(unsigned int mask, type value) {                                     \
        return __hmm_reduce(mask, value, [](type a, type b) -> type { return result; });           \
    }
HMM_CUDA_REDUCE(__reduce_add_sync, unsigned int, a + b)
HMM_CUDA_REDUCE(__reduce_min_sync, unsigned int, b < a ? b : a)
HMM_CUDA_REDUCE(__reduce_max_sync, unsigned int, a < b ? b : a)
HMM_CUDA_REDUCE(__reduce_min_sync, int, b < a ? b : a)
HMM_CUDA_REDUCE(__reduce_max_sync, int, a < b ? b : a)
HMM_CUDA_REDUCE(__reduce_and_sync, unsigned int, a& b)
HMM_CUDA_REDUCE(__reduce_or_sync, unsigned int, a | b)
HMM_CUDA_REDUCE(__reduce_xor_sync, unsigned int, a ^ b)
#undef HMM_CUDA_REDUCE
HMM_CUDA_DEVICE int __reduce_add_sync(unsigned int mask, int value) {
    return static_cast<int>(__reduce_add_sync(mask, static_cast<unsigned int>(value)));
}

#endif /* HMM_CUDA_DEVICE_WARPS_H */
