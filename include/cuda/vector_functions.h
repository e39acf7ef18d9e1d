/* SPDX-License-Identifier: MIT */
/* make_float4() and its relatives: vectors from their elements. */
#ifndef HMM_CUDA_VECTOR_FUNCTIONS_H
#define HMM_CUDA_VECTOR_FUNCTIONS_H
/* Programs test for this macro before they use the header. */
#define __VECTOR_FUNCTIONS_H__

#include "vector_types.h"

#define HMM_CUDA_MAKE(result) static __inline__ __host__ __device__ result make_##result

/* The functions that make vectors @name of @Element. */
#define HMM_CUDA_VECTOR_FUNCTIONS(Element, name)                                                   \
    HMM_CUDA_MAKE(name##1)(Element x) {                                                            \
        name##1 made;                                                                              \
        made.x = x;                                                                                \
        return made;                                                                               \
    }                                                                                              \
    HMM_CUDA_MAKE(name##2)(Element x, Element y) {                                                 \
        name##2 made;                                                                              \
        made.x = x;                                                                                \
        made.y = y;                                                                                \
        return made;                                                                               \
    }                                                                                              \
    HMM_CUDA_MAKE(name##3)(Element x, Element y, Element z) {                                      \
        name##3 made;                                                                              \
        made.x = x;                                                                                \
        made.y = y;                                                                                \
        made.z = z;                                                                                \
        return made;                                                                               \
    }                                                                                              \
    HMM_CUDA_MAKE(name##4)(Element x, Element y, Element z, Element w) {                           \
        name##4 made;                                                                              \
        made.x = x;                                                                                \
        made.y = y;                                                                                \
        made.z = z;                                                                                \
        made.w = w;                                                                                \
        return made;                                                                               \
    }

HMM_CUDA_VECTOR_FUNCTIONS(signed char, char)
HMM_CUDA_VECTOR_FUNCTIONS(unsigned char, uchar)
HMM_CUDA_VECTOR_FUNCTIONS(short, short)
HMM_CUDA_VECTOR_FUNCTIONS(unsigned short, ushort)
HMM_CUDA_VECTOR_FUNCTIONS(int, int)
HMM_CUDA_VECTOR_FUNCTIONS(unsigned int, uint)
HMM_CUDA_VECTOR_FUNCTIONS(long int, long)
HMM_CUDA_VECTOR_FUNCTIONS(unsigned long int, ulong)
HMM_CUDA_VECTOR_FUNCTIONS(long long int, longlong)
HMM_CUDA_VECTOR_FUNCTIONS(unsigned long long int, ulonglong)
HMM_CUDA_VECTOR_FUNCTIONS(float, float)
HMM_CUDA_VECTOR_FUNCTIONS(double, double)

#undef HMM_CUDA_VECTOR_FUNCTIONS
#undef HMM_CUDA_MAKE

#endif /* HMM_CUDA_VECTOR_FUNCTIONS_H */
