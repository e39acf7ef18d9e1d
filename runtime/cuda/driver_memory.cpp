// SPDX-License-Identifier: MIT
// The CUDA driver interface: allocation and copies.
#include "driver.hpp"

#include <cstdint>
#include <initializer_list>

namespace hmmcuda {
namespace {

/// Calls make(pointer to an address) and stores the address as a number.
template <class Make>
CUresult give_address(CUdeviceptr* place, Make make) {
    if (place == nullptr) return CUDA_ERROR_INVALID_VALUE;
    void* made = nullptr;
    const CUresult result = driver_call([&] { return make(&made); });
    if (result == CUDA_SUCCESS) *place = reinterpret_cast<std::uintptr_t>(made);
    return result;
}

CUresult copy(void* to, const void* from, size_t bytes, hmmMemcpyKind kind) {
    return driver_call([&] { return hmmMemcpy(to, from, bytes, kind); });
}

CUresult copy_async(void* to, const void* from, size_t bytes, hmmMemcpyKind kind, CUstream stream) {
    return driver_call([&] {
        return hmmMemcpyAsync(to, from, bytes, direction_of(kind, to, from), to_hmm(stream));
    });
}

/// Rows of memory, starting at the first byte of a copy.
struct rows {
    char* at;
    size_t pitch;
    size_t left; ///< bytes to the left of the copy
};

/// The rows of one side of a copy.
CUresult find_rows(rows& found, CUmemorytype type, const void* host, CUdeviceptr device) {
    switch (type) {
    case CU_MEMORYTYPE_HOST:
        found.at = static_cast<char*>(const_cast<void*>(host));
        return CUDA_SUCCESS;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
        found.at = static_cast<char*>(pointer_of(device));
        return CUDA_SUCCESS;
    case CU_MEMORYTYPE_ARRAY:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

hmmMemcpyKind kind_of(CUmemorytype to, CUmemorytype from) {
    if (to == CU_MEMORYTYPE_UNIFIED || from == CU_MEMORYTYPE_UNIFIED) return hmmMemcpyDefault;
    if (to == CU_MEMORYTYPE_HOST)
        return from == CU_MEMORYTYPE_HOST ? hmmMemcpyHostToHost : hmmMemcpyDeviceToHost;
    return from == CU_MEMORYTYPE_HOST ? hmmMemcpyHostToDevice : hmmMemcpyDeviceToDevice;
}

/// Calls copy(to, from, width, height) as described by @params.
template <class Copy>
CUresult copy_rows(const CUDA_MEMCPY2D* params, Copy copy) {
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY2D& of = *params;
    // without a pitch there are no gaps between rows
    const auto rows_from = [&](size_t pitch, size_t left) {
        return rows{nullptr, pitch != 0 ? pitch : left + of.WidthInBytes, left};
    };
    rows to = rows_from(of.dstPitch, of.dstXInBytes);
    rows from = rows_from(of.srcPitch, of.srcXInBytes);
    CUresult result = find_rows(to, of.dstMemoryType, of.dstHost, of.dstDevice);
    if (result == CUDA_SUCCESS)
        result = find_rows(from, of.srcMemoryType, of.srcHost, of.srcDevice);
    if (result != CUDA_SUCCESS) return result;
    if (of.WidthInBytes == 0 || of.Height == 0) return CUDA_SUCCESS;
    for (const rows* side : {&to, &from})
        if (side->left > side->pitch || of.WidthInBytes > side->pitch - side->left)
            return CUDA_ERROR_INVALID_VALUE;
    to.at += of.dstY * to.pitch + of.dstXInBytes;
    from.at += of.srcY * from.pitch + of.srcXInBytes;
    return driver_call([&] { return copy(to, from, of.WidthInBytes, of.Height); });
}

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

/* ---- allocation ------------------------------------------------------- */

CUresult cuMemAlloc(CUdeviceptr* dptr, size_t bytesize) {
    if (bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
    return give_address(dptr, [&](void** made) { return hmmMalloc(made, bytesize); });
}

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
    return give_address(dptr, [&](void** made) { return hmmMallocManaged(made, bytesize, flags); });
}

CUresult cuMemAllocPitch(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                         unsigned int ElementSizeBytes) {
    if (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16)
        return CUDA_ERROR_INVALID_VALUE;
    if (WidthInBytes == 0 || Height == 0) return CUDA_ERROR_INVALID_VALUE;
    return give_address(
        dptr, [&](void** made) { return hmmMallocPitch(made, pPitch, WidthInBytes, Height); });
}

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
    return give_address(
        dptr, [&](void** made) { return hmmMallocAsync(made, bytesize, to_hmm(hStream)); });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
    return give_address(pdptr,
                        [&](void** made) { return hmmHostGetDevicePointer(made, p, Flags); });
}

/* ---- copies ----------------------------------------------------------- */

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
    return copy(pointer_of(dst), pointer_of(src), ByteCount, hmmMemcpyDefault);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
    return copy_async(pointer_of(dst), pointer_of(src), ByteCount, hmmMemcpyDefault, hStream);
}

CUresult cuMemcpyHtoD(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
    return copy(pointer_of(dstDevice), srcHost, ByteCount, hmmMemcpyHostToDevice);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
                           CUstream hStream) {
    return copy_async(pointer_of(dstDevice), srcHost, ByteCount, hmmMemcpyHostToDevice, hStream);
}

CUresult cuMemcpyDtoH(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
    return copy(dstHost, pointer_of(srcDevice), ByteCount, hmmMemcpyDeviceToHost);
}

CUresult cuMemcpyDtoHAsync(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                           CUstream hStream) {
    return copy_async(dstHost, pointer_of(srcDevice), ByteCount, hmmMemcpyDeviceToHost, hStream);
}

CUresult cuMemcpyDtoD(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
    return copy(pointer_of(dstDevice), pointer_of(srcDevice), ByteCount, hmmMemcpyDeviceToDevice);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                           CUstream hStream) {
    return copy_async(pointer_of(dstDevice), pointer_of(srcDevice), ByteCount,
                      hmmMemcpyDeviceToDevice, hStream);
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D* pCopy) {
    return copy_rows(pCopy, [](const rows& to, const rows& from, size_t width, size_t height) {
        return hmmMemcpy2D(to.at, to.pitch, from.at, from.pitch, width, height, hmmMemcpyDefault);
    });
}

CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D* pCopy) {
    return cuMemcpy2D(pCopy);
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
    return copy_rows(pCopy, [&](const rows& to, const rows& from, size_t width, size_t height) {
        const hmmMemcpyKind kind = kind_of(pCopy->dstMemoryType, pCopy->srcMemoryType);
        return hmmMemcpy2DAsync(to.at, to.pitch, from.at, from.pitch, width, height,
                                direction_of(kind, to.at, from.at), to_hmm(hStream));
    });
}

CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                      CUcontext srcContext, size_t ByteCount) {
    const std::optional<int> to = device_of(dstContext), from = device_of(srcContext);
    if (!to || !from) return CUDA_ERROR_INVALID_CONTEXT;
    return driver_call([&] {
        return hmmMemcpyPeer(pointer_of(dstDevice), *to, pointer_of(srcDevice), *from, ByteCount);
    });
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount, CUstream hStream) {
    const std::optional<int> to = device_of(dstContext), from = device_of(srcContext);
    if (!to || !from) return CUDA_ERROR_INVALID_CONTEXT;
    return driver_call([&] {
        return hmmMemcpyPeerAsync(pointer_of(dstDevice), *to, pointer_of(srcDevice), *from,
                                  ByteCount, to_hmm(hStream));
    });
}
