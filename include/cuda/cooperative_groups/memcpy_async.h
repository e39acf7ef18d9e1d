/* SPDX-License-Identifier: MIT */
/*
 * memcpy_async(): the threads of a group copy together. Each copies its part at
 * once, so that waiting for copies is waiting for the group.
 */
#ifndef HMM_CUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define HMM_CUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "../cooperative_groups.h"

#ifdef __CUDA__

namespace cooperative_groups {

template <class Group, class T>
HMM_CUDA_DEVICE void __hmm_copy_elements(const Group& group, T* to, const T* from, size_t count) {
    for (size_t i = group.thread_rank(); i < count; i += group.size())
        to[i] = from[i];
}

/* Copies this many bytes. */
template <class Group, class T>
HMM_CUDA_DEVICE void memcpy_async(const Group& group, T* to, const T* from, size_t bytes) {
    const size_t count = bytes / sizeof(T);
    __hmm_copy_elements(group, to, from, count);
    __hmm_copy_elements(group, reinterpret_cast<unsigned char*>(to + count),
                        reinterpret_cast<const unsigned char*>(from + count), bytes % sizeof(T));
}
template <class Group>
HMM_CUDA_DEVICE void memcpy_async(const Group& group, void* to, const void* from, size_t bytes) {
    __hmm_copy_elements(group, static_cast<unsigned char*>(to),
                        static_cast<const unsigned char*>(from), bytes);
}
/* Copies as many elements as both have. */
template <class Group, class T>
HMM_CUDA_DEVICE void memcpy_async(const Group& group, T* to, size_t to_count, const T* from,
                                  size_t from_count) {
    __hmm_copy_elements(group, to, from, to_count < from_count ? to_count : from_count);
}

template <class Group>
HMM_CUDA_DEVICE void wait(const Group& group) {
    group.sync();
}
/* Waits for more than it has to: for all copies. */
template <unsigned int Copies, class Group>
HMM_CUDA_DEVICE void wait_prior(const Group& group) {
    group.sync();
}

} // namespace cooperative_groups

#endif /* __CUDA__ */

#endif /* HMM_CUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H */
