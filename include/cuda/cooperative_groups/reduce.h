/* SPDX-License-Identifier: MIT */
/*
 * reduce(): one value from those of all threads of a tile or a coalesced group,
 * which each of them gets. They are combined in the order of the ranks.
 */
#ifndef HMM_CUDA_COOPERATIVE_GROUPS_REDUCE_H
#define HMM_CUDA_COOPERATIVE_GROUPS_REDUCE_H

#include "../cooperative_groups.h"

#ifdef __CUDA__

namespace cooperative_groups {

#define HMM_CUDA_OPERATION(name, result)                                                           \
    template <class T>                                                                             \
    struct name {                                                                                  \
        HMM_CUDA_MEMBER T operator()(T a, T b) const { return result; }                            \
    };
HMM_CUDA_OPERATION(plus, a + b)
HMM_CUDA_OPERATION(less, b < a ? b : a)
HMM_CUDA_OPERATION(greater, a < b ? b : a)
HMM_CUDA_OPERATION(bit_and, a& b)
HMM_CUDA_OPERATION(bit_or, a | b)
HMM_CUDA_OPERATION(bit_xor, a ^ b)
#undef HMM_CUDA_OPERATION

/* Takes any other operation on two values, too. */
template <class Group, class T, class Operation>
HMM_CUDA_DEVICE T reduce(const Group& group, T value, Operation operation) {
    return __hmm_reduce(group.__hmm_mask(), value, operation, Group::__hmm_lanes);
}

} // namespace cooperative_groups

#endif /* __CUDA__ */

#endif /* HMM_CUDA_COOPERATIVE_GROUPS_REDUCE_H */
