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
    params.srcPos = position_of(from->srcPos);
    params.srcPtr = rows_of(from->srcPtr);
    params.dstArray = reinterpret_cast<hmmArray_t>(from->dstArray);
    params.dstPos = position_of(from->dstPos);
    params.dstPtr = rows_of(from->dstPtr);
    params.extent = extent_of(from->extent);
    params.kind = direction_of(kind_of(from->kind), params.dstPtr.ptr, params.srcPtr.ptr);
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

cudaError_t cudaMalloc(void** devPtr, size_t size) {
    return forward(hmmMalloc(devPtr, size));
}

cudaError_t cudaFree(void* devPtr) {
    return forward(hmmFree(devPtr));
}

cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
    const bool valid =
        devPtr != nullptr && (flags == cudaMemAttachGlobal || flags == cudaMemAttachHost);
    // unlike CUDA's driver interface and libhmmrt, this interface accepts 0 bytes
    if (size != 0 || !valid) return forward(hmmMallocManaged(devPtr, size, flags));
    *devPtr = nullptr;
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void** ptr, size_t size) {
    return forward(hmmMallocHost(ptr, size));
}

cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int flags) {
    return forward(hmmHostAlloc(pHost, size, flags));
}

cudaError_t cudaFreeHost(void* ptr) {
    return forward(hmmFreeHost(ptr));
}

cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int flags) {
    return forward(hmmHostRegister(ptr, size, flags));
}

cudaError_t cudaHostUnregister(void* ptr) {
    return forward(hmmHostUnregister(ptr));
}

cudaError_t cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags) {
    return forward(hmmHostGetDevicePointer(pDevice, pHost, flags));
}

cudaError_t cudaHostGetFlags(unsigned int* pFlags, void* pHost) {
    return forward(hmmHostGetFlags(pFlags, pHost));
}

cudaError_t cudaMallocPitch(void** devPtr, size_t* pitch, size_t width, size_t height) {
    return forward(hmmMallocPitch(devPtr, pitch, width, height));
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitchedDevPtr, cudaExtent extent) {
    hmmPitchedPtr made = {};
    const hmmError_t code =
        hmmMalloc3D(pitchedDevPtr != nullptr ? &made : nullptr, extent_of(extent));
    if (code == hmmSuccess)
        *pitchedDevPtr = make_cudaPitchedPtr(made.ptr, made.pitch, made.xsize, made.ysize);
    return forward(code);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    std::size_t not_wanted = 0; // CUDA accepts NULL for both
    return forward(hmmMemGetInfo(free != nullptr ? free : &not_wanted,
                                 total != nullptr ? total : &not_wanted));
}

/* ---- copies ----------------------------------------------------------- */

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
    return forward(hmmMemcpy(dst, src, count, kind_of(kind)));
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return forward(
        hmmMemcpyAsync(dst, src, count, direction_of(kind_of(kind), dst, src), stream_of(stream)));
}

cudaError_t cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t count) {
    return forward(hmmMemcpyPeer(dst, dstDevice, src, srcDevice, count));
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice,
                                size_t count, cudaStream_t stream) {
    return forward(hmmMemcpyPeerAsync(dst, dstDevice, src, srcDevice, count, stream_of(stream)));
}

cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
    return forward(hmmMemcpy2D(dst, dpitch, src, spitch, width, height, kind_of(kind)));
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
    return forward(hmmMemcpy2DAsync(dst, dpitch, src, spitch, width, height,
                                    direction_of(kind_of(kind), dst, src), stream_of(stream)));
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
    return copy_box(p, hmmMemcpy3D);
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
    return copy_box(p, [&](const hmmMemcpy3DParms* params) {
        return hmmMemcpy3DAsync(params, stream_of(stream));
    });
}

/* ---- fills ------------------------------------------------------------ */

cudaError_t cudaMemset(void* devPtr, int value, size_t count) {
    return forward(hmmMemset(devPtr, value, count));
}

cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
    return forward(hmmMemsetAsync(devPtr, value, count, stream_of(stream)));
}

cudaError_t cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width, size_t height) {
    return result_of_fill(hmmMemset2D(devPtr, pitch, value, width, height));
}

cudaError_t cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
    return result_of_fill(hmmMemset2DAsync(devPtr, pitch, value, width, height, stream_of(stream)));
}

cudaError_t cudaMemset3D(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent) {
    return forward(hmmMemset3D(rows_of(pitchedDevPtr), value, extent_of(extent)));
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent,
                              cudaStream_t stream) {
    return forward(
        hmmMemset3DAsync(rows_of(pitchedDevPtr), value, extent_of(extent), stream_of(stream)));
}
