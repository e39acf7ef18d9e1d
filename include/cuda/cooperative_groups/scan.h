/* SPDX-License-Identifier: MIT */
/*
 * inclusive_scan() and exclusive_scan(): each thread of a tile or a coalesced group
 * gets the values of the threads up to it, or in front of it, combined in the order
 * of the ranks. All threads of the group have to take part.
 */
#ifndef HMM_CUDA_COOPERATIVE_GROUPS_SCAN_H
#define HMM_CUDA_COOPERATIVE_GROUPS_SCAN_H

#include "reduce.h"

#ifdef __CUDA__

namespace cooperative_groups {

/* Takes any other operation on two values, too. */
template <class Group, class T, class Operation>
HMM_CUDA_DEVICE T inclusive_scan(const Group& group, T value, Operation operation) {
    for (unsigned int distance = 1; distance < Group::__hmm_lanes; distance *= 2) {
        const T before = group.shfl_up(value, distance);
        if (group.thread_rank() >= distance) value = operation(before, value);
    }
    return value;
}
template <class Group, class T>
HMM_CUDA_DEVICE T inclusive_scan(const Group& group, T value) {
    return inclusive_scan(group, value, plus<T>());
}

/* The first thread gets T(). */
template <class Group, class T, class Operation>
HMM_CUDA_DEVICE T exclusive_scan(const Group& group, T value, Operation operation) {
    const T before = group.shfl_up(inclusive_scan(group, value, operation), 1);
    return group.thread_rank() == 0 ? T() : before;
}
template <class Group, class T>
HMM_CUDA_DEVICE T exclusive_scan(const Group& group, T value) {
    return exclusive_scan(group, value, plus<T>());
}

} // namespace cooperative_groups

#endif /* __CUDA__ */

#endif /* HMM_CUDA_COOPERATIVE_GROUPS_SCAN_H */
