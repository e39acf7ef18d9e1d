// SPDX-License-Identifier: MIT
// Converts arguments of HIP's interface to CUDA's. Handles are CUDA's own.
#pragma once

#include "cuda/hip/hip_runtime_api.h"

namespace hmmcuda {

template <class T>
T to_cuda(T same) {
    return same;
}

inline cudaMemcpyKind to_cuda(hipMemcpyKind kind) {
    return static_cast<cudaMemcpyKind>(kind);
}
inline cudaMemRangeAttribute to_cuda(hipMemRangeAttribute attribute) {
    return static_cast<cudaMemRangeAttribute>(attribute);
}
inline cudaLimit to_cuda(hipLimit_t limit) {
    return static_cast<cudaLimit>(limit);
}
inline cudaFuncCache to_cuda(hipFuncCache_t config) {
    return static_cast<cudaFuncCache>(config);
}
inline cudaFuncAttribute to_cuda(hipFuncAttribute attribute) {
    return static_cast<cudaFuncAttribute>(attribute);
}

} // namespace hmmcuda
