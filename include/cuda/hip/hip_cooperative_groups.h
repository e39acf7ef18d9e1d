/* SPDX-License-Identifier: MIT */
/* Groups of threads have the same names in HIP. */
#ifndef HMM_CUDA_HIP_COOPERATIVE_GROUPS_H
#define HMM_CUDA_HIP_COOPERATIVE_GROUPS_H

#include "../cooperative_groups.h"

#endif /* HMM_CUDA_HIP_COOPERATIVE_GROUPS_H */
