/* SPDX-License-Identifier: MIT */
/*
 * Atomic functions. All are relaxed, as CUDA's are. Those with _block and
 * _system are the same: the processor's atomic instructions have one scope.
 */
#ifndef HMM_CUDA_DEVICE_ATOMICS_H
#define HMM_CUDA_DEVICE_ATOMICS_H

#include "device_keywords.h"

#include <cstring>
#include <type_traits>

/* Deduces a type from the first argument alone. */
template <class T>
struct __hmm_same {
    using type = T;
};
template <class T>
using __hmm_same_t = typename __hmm_same<T>::type;

/* Replaces *address by change(*address), and returns what was there. */
template <class T, class Change>
HMM_CUDA_DEVICE T __hmm_atomic_change(T* address, Change change) {
    using word =
        std::conditional_t<sizeof(T) == 8, unsigned long long,
                           std::conditional_t<sizeof(T) == 4, unsigned int, unsigned short>>;
    static_assert(sizeof(T) == sizeof(word),
                  "atomic functions support types of 16, 32 and 64 bits");
    word* const memory = reinterpret_cast<word*>(address);
    word old = __atomic_load_n(memory, __ATOMIC_RELAXED);
    for (;;) {
        T value;
        memcpy(&value, &old, sizeof(T));
        const T changed = change(value);
        word wanted;
        memcpy(&wanted, &changed, sizeof(T));
        if (__atomic_compare_exchange_n(memory, &old, wanted, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return value;
    }
}

template <class T>
HMM_CUDA_DEVICE T atomicAdd(T* address, __hmm_same_t<T> value) {
    if constexpr (std::is_integral_v<T>)
        return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
    else
        return __hmm_atomic_change(address, [=](T old) -> T { return old + value; });
}
template <class T>
HMM_CUDA_DEVICE T atomicSub(T* address, __hmm_same_t<T> value) {
    return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}
template <class T>
HMM_CUDA_DEVICE T atomicExch(T* address, __hmm_same_t<T> value) {
    T old;
    __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);
    return old;
}
template <class T>
HMM_CUDA_DEVICE T atomicMin(T* address, __hmm_same_t<T> value) {
    return __hmm_atomic_change(address, [=](T old) -> T { return value < old ? value : old; });
}
template <class T>
HMM_CUDA_DEVICE T atomicMax(T* address, __hmm_same_t<T> value) {
    return __hmm_atomic_change(address, [=](T old) -> T { return old < value ? value : old; });
}
template <class T>
HMM_CUDA_DEVICE T atomicInc(T* address, __hmm_same_t<T> last) {
    return __hmm_atomic_change(address, [=](T old) -> T { return old >= last ? 0 : old + 1; });
}
template <class T>
HMM_CUDA_DEVICE T atomicDec(T* address, __hmm_same_t<T> last) {
    return __hmm_atomic_change(address,
                               [=](T old) -> T { return old == 0 || old > last ? last : old - 1; });
}
template <class T>
HMM_CUDA_DEVICE T atomicAnd(T* address, __hmm_same_t<T> value) {
    return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}
template <class T>
HMM_CUDA_DEVICE T atomicOr(T* address, __hmm_same_t<T> value) {
    return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
template <class T>
HMM_CUDA_DEVICE T atomicXor(T* address, __hmm_same_t<T> value) {
    return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}
template <class T>
HMM_CUDA_DEVICE T atomicCAS(T* address, __hmm_same_t<T> expected, __hmm_same_t<T> value) {
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return expected;
}

#define HMM_CUDA_ATOMIC_SCOPES(name)                                                               \
    template <class T>                                                                             \
    HMM_CUDA_DEVICE T name##_block(T* address, __hmm_same_t<T> value) {                            \
        return name(address, value);                                                               \
    }                                                                                              \
    template <class T>                                                                             \
    HMM_CUDA_DEVICE T name##_system(T* address, __hmm_same_t<T> value) {                           \
        return name(address, value);                                                               \
    }
HMM_CUDA_ATOMIC_SCOPES(atomicAdd)
HMM_CUDA_ATOMIC_SCOPES(atomicSub)
HMM_CUDA_ATOMIC_SCOPES(atomicExch)
HMM_CUDA_ATOMIC_SCOPES(atomicMin)
HMM_CUDA_ATOMIC_SCOPES(atomicMax)
HMM_CUDA_ATOMIC_SCOPES(atomicInc)
HMM_CUDA_ATOMIC_SCOPES(atomicDec)
HMM_CUDA_ATOMIC_SCOPES(atomicAnd)
HMM_CUDA_ATOMIC_SCOPES(atomicOr)
HMM_CUDA_ATOMIC_SCOPES(atomicXor)
#undef HMM_CUDA_ATOMIC_SCOPES

template <class T>
HMM_CUDA_DEVICE T atomicCAS_block(T* address, __hmm_same_t<T> expected, __hmm_same_t<T> value) {
    return atomicCAS(address, expected, value);
}
template <class T>
HMM_CUDA_DEVICE T atomicCAS_system(T* address, __hmm_same_t<T> expected, __hmm_same_t<T> value) {
    return atomicCAS(address, expected, value);
}

#endif /* HMM_CUDA_DEVICE_ATOMICS_H */
