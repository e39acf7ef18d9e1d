// SPDX-License-Identifier: MIT
// The CUDA driver interface: allocation and copies.
#include "driver.hpp"

#include <cstdint>

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
    return driver_call([&] { return hmmMemcpyAsync(to, from, bytes, kind, stream_of(stream)); });
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

CUresult cuMemFree(CUdeviceptr dptr) {
    return driver_call([&] { return hmmFree(pointer_of(dptr)); });
}

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
    return give_address(
        dptr, [&](void** made) { return hmmMallocAsync(made, bytesize, stream_of(hStream)); });
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
    return driver_call([&] { return hmmFreeAsync(pointer_of(dptr), stream_of(hStream)); });
}

CUresult cuMemAllocHost(void** pp, size_t bytesize) {
    return driver_call([&] { return hmmMallocHost(pp, bytesize); });
}

CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) {
    return driver_call([&] { return hmmHostAlloc(pp, bytesize, Flags); });
}

CUresult cuMemFreeHost(void* p) {
    return driver_call([&] { return hmmFreeHost(p); });
}

CUresult cuMemHostRegister(void* p, size_t bytesize, unsigned int Flags) {
    return driver_call([&] { return hmmHostRegister(p, bytesize, Flags); });
}

CUresult cuMemHostUnregister(void* p) {
    return driver_call([&] { return hmmHostUnregister(p); });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
    return give_address(pdptr,
                        [&](void** made) { return hmmHostGetDevicePointer(made, p, Flags); });
}

CUresult cuMemHostGetFlags(unsigned int* pFlags, void* p) {
    return driver_call([&] { return hmmHostGetFlags(pFlags, p); });
}

CUresult cuMemGetInfo(size_t* free, size_t* total) {
    return driver_call([&] { return hmmMemGetInfo(free, total); });
}

CUresult cuMemGetAddressRange(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
    return driver_call([&] { return hmmMemGetAddressRange(pbase, psize, dptr); });
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
                                  ByteCount, stream_of(hStream));
    });
}
