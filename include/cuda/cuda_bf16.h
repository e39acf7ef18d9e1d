/* SPDX-License-Identifier: MIT */
/* Numbers of 16 bits that are the upper half of a float, for device and host code. */
#ifndef HMM_CUDA_CUDA_BF16_H
#define HMM_CUDA_CUDA_BF16_H
/* Programs test for this macro before they use the header. */
#define __CUDA_BF16_H__

#include "cuda_runtime.h"

#ifdef __cplusplus

#include "half/format.h"

#define HMM_HALF __nv_bfloat16
#define HMM_HALF2 __nv_bfloat162
#define HMM_HALF_RAW __nv_bfloat16_raw
#define HMM_HALF2_RAW __nv_bfloat162_raw
#define HMM_HALF_FORMAT __hmm_bfloat16_format
#define HMM_HALF_NAMED(before, behind) before##bfloat16##behind
#define HMM_HALF2_NAMED(before, behind) before##bfloat162##behind
#define HMM_HALF_PAIRED(before, behind) before##bfloat16##2##bfloat162##behind
/* Programs that have types of their own do without these. */
#ifdef __CUDA_NO_BFLOAT16_CONVERSIONS__
#define HMM_HALF_NO_CONVERSIONS
#endif
#ifdef __CUDA_NO_BFLOAT16_OPERATORS__
#define HMM_HALF_NO_OPERATORS
#endif
#ifdef __CUDA_NO_BFLOAT162_OPERATORS__
#define HMM_HALF2_NO_OPERATORS
#endif

#include "half/types.h"

#include "half/functions.h"

#undef HMM_HALF2_NO_OPERATORS
#undef HMM_HALF_NO_OPERATORS
#undef HMM_HALF_NO_CONVERSIONS
#undef HMM_HALF_PAIRED
#undef HMM_HALF2_NAMED
#undef HMM_HALF_NAMED
#undef HMM_HALF_FORMAT
#undef HMM_HALF2_RAW
#undef HMM_HALF_RAW
#undef HMM_HALF2
#undef HMM_HALF

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)

#endif /* __cplusplus */

#endif /* HMM_CUDA_CUDA_BF16_H */
