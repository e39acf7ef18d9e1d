// SPDX-License-Identifier: MIT
// The CUDA runtime interface: allocation, copies and fills.
#include "convert.hpp"
#include "error.hpp"

#include "cuda/cuda_runtime_api.h"

namespace hmmcuda {
namespace {

/// Calls hmmMemcpy3D() or hmmMemcpy3DAsync() with converted parameters.
template <class Copy>
cudaError_t copy_box(const cudaMemcpy3DParms* from, Copy copy) {
    if (from == nullptr) return forward(copy(nullptr));
    hmmMemcpy3DParms params = {};
    params.srcArray = reinterpret_cast<hmmArray_t>(from->srcArray);
    params.srcPos = to_hmm(from->srcPos);
    params.srcPtr = to_hmm(from->srcPtr);
    params.dstArray = reinterpret_cast<hmmArray_t>(from->dstArray);
    params.dstPos = to_hmm(from->dstPos);
    params.dstPtr = to_hmm(from->dstPtr);
    params.extent = to_hmm(from->extent);
    params.kind = direction_of(to_hmm(from->kind), params.dstPtr.ptr, params.srcPtr.ptr);
    return forward(copy(&params));
}

/// Converts the result of a fill, for which CUDA has no specific error for an
/// invalid pitch.
cudaError_t result_of_fill(hmmError_t error) {
    const cudaError_t result = forward(error);
    return result == cudaErrorInvalidPitchValue ? record(cudaErrorInvalidValue) : result;
}

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

/* ---- allocation ------------------------------------------------------- */

cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
    const bool valid =
        devPtr != nullptr && (flags == cudaMemAttachGlobal || flags == cudaMemAttachHost);
    // unlike CUDA's driver interface and libhmmrt, this interface accepts 0 bytes
    if (size != 0 || !valid) return forward(hmmMallocManaged(devPtr, size, flags));
    *devPtr = nullptr;
    return cudaSuccess;
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitchedDevPtr, cudaExtent extent) {
    hmmPitchedPtr made = {};
    const hmmError_t code = hmmMalloc3D(pitchedDevPtr != nullptr ? &made : nullptr, to_hmm(extent));
    if (code == hmmSuccess)
        *pitchedDevPtr = make_cudaPitchedPtr(made.ptr, made.pitch, made.xsize, made.ysize);
    return forward(code);
}

/* ---- copies ----------------------------------------------------------- */

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return forward(
        hmmMemcpyAsync(dst, src, count, direction_of(to_hmm(kind), dst, src), to_hmm(stream)));
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
    return forward(hmmMemcpy2DAsync(dst, dpitch, src, spitch, width, height,
                                    direction_of(to_hmm(kind), dst, src), to_hmm(stream)));
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
    return copy_box(p, hmmMemcpy3D);
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
    return copy_box(p, [&](const hmmMemcpy3DParms* params) {
        return hmmMemcpy3DAsync(params, to_hmm(stream));
    });
}

/* ---- fills ------------------------------------------------------------ */

cudaError_t cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width, size_t height) {
    return result_of_fill(hmmMemset2D(devPtr, pitch, value, width, height));
}

cudaError_t cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
    return result_of_fill(hmmMemset2DAsync(devPtr, pitch, value, width, height, to_hmm(stream)));
}
