// SPDX-License-Identifier: MIT
// The CUDA runtime interface: variables of device code. Such a variable is a
// variable of the program, with the same address on all devices.
#include "convert.hpp"
#include "error.hpp"

#include "cuda/cuda_runtime_api.h"

namespace hmmcuda {
namespace {

/// Checks a copy to or from a variable, which counts as device memory. @other
/// is the kind of a copy between it and the host.
cudaError_t check_symbol(const void* symbol, cudaMemcpyKind kind, cudaMemcpyKind other) {
    if (symbol == nullptr) return record(cudaErrorInvalidSymbol);
    if (kind == other || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault)
        return cudaSuccess;
    return record(cudaErrorInvalidMemcpyDirection);
}

void* at(const void* symbol, size_t offset) {
    return static_cast<char*>(const_cast<void*>(symbol)) + offset;
}

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

cudaError_t hmmCudaCheckSymbol(size_t size, size_t count, size_t offset) {
    if (offset > size || count > size - offset) return record(cudaErrorInvalidValue);
    return cudaSuccess;
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* src, size_t count, size_t offset,
                               cudaMemcpyKind kind) {
    const cudaError_t error = check_symbol(symbol, kind, cudaMemcpyHostToDevice);
    return error != cudaSuccess ? error : cudaMemcpy(at(symbol, offset), src, count, kind);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count,
                                    size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
    const cudaError_t error = check_symbol(symbol, kind, cudaMemcpyHostToDevice);
    return error != cudaSuccess ? error
                                : cudaMemcpyAsync(at(symbol, offset), src, count, kind, stream);
}

cudaError_t cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count, size_t offset,
                                 cudaMemcpyKind kind) {
    const cudaError_t error = check_symbol(symbol, kind, cudaMemcpyDeviceToHost);
    return error != cudaSuccess ? error : cudaMemcpy(dst, at(symbol, offset), count, kind);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
    const cudaError_t error = check_symbol(symbol, kind, cudaMemcpyDeviceToHost);
    return error != cudaSuccess ? error
                                : cudaMemcpyAsync(dst, at(symbol, offset), count, kind, stream);
}

cudaError_t cudaGetSymbolAddress(void** devPtr, const void* symbol) {
    if (devPtr == nullptr) return record(cudaErrorInvalidValue);
    if (symbol == nullptr) return record(cudaErrorInvalidSymbol);
    *devPtr = at(symbol, 0);
    return cudaSuccess;
}
