/* SPDX-License-Identifier: MIT */
/* Vectors of one to four elements, and dim3, with CUDA's alignments. */
#ifndef HMM_CUDA_VECTOR_TYPES_H
#define HMM_CUDA_VECTOR_TYPES_H
/* Programs test for this macro before they use the header. */
#define __VECTOR_TYPES_H__

#include "host_defines.h"

/*
 * Vectors of @Element; two elements are aligned to their size, and four to
 * @align4, which is their size or 16. An element is aligned in memory by itself
 * in the other vectors.
 */
#define HMM_CUDA_VECTOR_TYPES(Element, name, align4)                                               \
    typedef struct name##1 {                                                                       \
        Element x;                                                                                 \
    }                                                                                              \
    name##1;                                                                                       \
    typedef struct __align__(2 * sizeof(Element)) name##2 {                                        \
        Element x, y;                                                                              \
    }                                                                                              \
    name##2;                                                                                       \
    typedef struct name##3 {                                                                       \
        Element x, y, z;                                                                           \
    }                                                                                              \
    name##3;                                                                                       \
    typedef struct __align__(align4) name##4 {                                                     \
        Element x, y, z, w;                                                                        \
    }                                                                                              \
    name##4;

HMM_CUDA_VECTOR_TYPES(signed char, char, 4)
HMM_CUDA_VECTOR_TYPES(unsigned char, uchar, 4)
HMM_CUDA_VECTOR_TYPES(short, short, 8)
HMM_CUDA_VECTOR_TYPES(unsigned short, ushort, 8)
HMM_CUDA_VECTOR_TYPES(int, int, 16)
HMM_CUDA_VECTOR_TYPES(unsigned int, uint, 16)
HMM_CUDA_VECTOR_TYPES(long int, long, 16)
HMM_CUDA_VECTOR_TYPES(unsigned long int, ulong, 16)
HMM_CUDA_VECTOR_TYPES(long long int, longlong, 16)
HMM_CUDA_VECTOR_TYPES(unsigned long long int, ulonglong, 16)
HMM_CUDA_VECTOR_TYPES(float, float, 16)
HMM_CUDA_VECTOR_TYPES(double, double, 16)

#undef HMM_CUDA_VECTOR_TYPES

/* Size of a grid or a block. In C++ sizes that are left out are 1. */
typedef struct dim3 {
    unsigned int x, y, z;
#ifdef __cplusplus
    // Programs write <<<blocks, 256>>> and pass vectors.
    // NOLINTBEGIN(google-explicit-constructor)
    __host__ __device__ constexpr dim3(unsigned int sizeX = 1, unsigned int sizeY = 1,
                                       unsigned int sizeZ = 1)
        : x(sizeX), y(sizeY), z(sizeZ) {}
    __host__ __device__ constexpr dim3(uint3 size) : x(size.x), y(size.y), z(size.z) {}
    /* From threadIdx and its relatives. */
    template <class Index, class = typename Index::__hmm_index>
    __host__ __device__ constexpr dim3(const Index& index) : x(index.x), y(index.y), z(index.z) {}
    __host__ __device__ constexpr operator uint3() const {
        return uint3{x, y, z};
    }
    // NOLINTEND(google-explicit-constructor)
#endif
} dim3;

#endif /* HMM_CUDA_VECTOR_TYPES_H */
