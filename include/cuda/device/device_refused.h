/* SPDX-License-Identifier: MIT */
/* What hmmcc does not support: a use is an error that says so. */
#ifndef HMM_CUDA_DEVICE_REFUSED_H
#define HMM_CUDA_DEVICE_REFUSED_H

template <class T>
struct __hmm_refused {
    static constexpr bool value = false;
};

enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };

template <class T, int Dimensions = 1, cudaTextureReadMode Mode = cudaReadModeElementType>
struct texture {
    static_assert(
        __hmm_refused<T>::value,
        "hmmcc does not support textures: read the memory directly, for example with __ldg()");
};
template <class T, int Dimensions = 1>
struct surface {
    static_assert(__hmm_refused<T>::value,
                  "hmmcc does not support surfaces: access the memory directly");
};
template <class T, class... Rest>
__device__ T tex1Dfetch(Rest...) {
    static_assert(
        __hmm_refused<T>::value,
        "hmmcc does not support textures: read the memory directly, for example with __ldg()");
}
template <class T, class... Rest>
__device__ T tex1D(Rest...) {
    static_assert(
        __hmm_refused<T>::value,
        "hmmcc does not support textures: read the memory directly, for example with __ldg()");
}
template <class T, class... Rest>
__device__ T tex2D(Rest...) {
    static_assert(
        __hmm_refused<T>::value,
        "hmmcc does not support textures: read the memory directly, for example with __ldg()");
}
template <class T, class... Rest>
__device__ T tex3D(Rest...) {
    static_assert(
        __hmm_refused<T>::value,
        "hmmcc does not support textures: read the memory directly, for example with __ldg()");
}

/* Threads see one address space. */
#define HMM_CUDA_NO_SPACES(name)                                                                   \
    template <class T>                                                                             \
    __device__ unsigned int name(const T*) {                                                       \
        static_assert(__hmm_refused<T>::value,                                                     \
                      "hmmcc does not support " #name                                              \
                      "(): the address space of a pointer cannot be determined at run time");      \
        return 0;                                                                                  \
    }
HMM_CUDA_NO_SPACES(__isGlobal)
HMM_CUDA_NO_SPACES(__isShared)
HMM_CUDA_NO_SPACES(__isConstant)
HMM_CUDA_NO_SPACES(__isLocal)
HMM_CUDA_NO_SPACES(__isGridConstant)
#undef HMM_CUDA_NO_SPACES

#endif /* HMM_CUDA_DEVICE_REFUSED_H */
