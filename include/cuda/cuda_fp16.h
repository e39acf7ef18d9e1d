/* SPDX-License-Identifier: MIT */
/* Numbers of 16 bits with 11 significant ones, for device and host code. */
#ifndef HMM_CUDA_CUDA_FP16_H
#define HMM_CUDA_CUDA_FP16_H
/* Programs test for this macro before they use the header. */
#define __CUDA_FP16_H__

#include "cuda_runtime.h"

#ifdef __cplusplus

#include "half/format.h"

#define HMM_HALF __half
#define HMM_HALF2 __half2
#define HMM_HALF_RAW __half_raw
#define HMM_HALF2_RAW __half2_raw
#define HMM_HALF_FORMAT __hmm_half_format
#define HMM_HALF_NAMED(before, behind) before##half##behind
#define HMM_HALF2_NAMED(before, behind) before##half2##behind
#define HMM_HALF_PAIRED(before, behind) before##half##2##half2##behind
/* Programs that have types of their own do without these. */
#ifdef __CUDA_NO_HALF_CONVERSIONS__
#define HMM_HALF_NO_CONVERSIONS
#endif
#ifdef __CUDA_NO_HALF_OPERATORS__
#define HMM_HALF_NO_OPERATORS
#endif
#ifdef __CUDA_NO_HALF2_OPERATORS__
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

typedef __half half;
typedef __half2 half2;
typedef __half nv_half;
typedef __half2 nv_half2;

#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)

#endif /* __cplusplus */

#endif /* HMM_CUDA_CUDA_FP16_H */
