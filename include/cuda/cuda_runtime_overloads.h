// SPDX-License-Identifier: MIT
/*
 * C++ overloads of the runtime interface; cuda_runtime.h includes this file.
 * They take pointers of any type, kernels with typed parameters, and variables
 * of device code themselves.
 */
#ifndef HMM_CUDA_CUDA_RUNTIME_OVERLOADS_H
#define HMM_CUDA_CUDA_RUNTIME_OVERLOADS_H

#include "cuda_runtime_api.h"

/* ---- allocation ------------------------------------------------------- */

/* A place for a pointer to anything, const or not. */
template <class T>
inline __host__ void** hmmCudaUntyped(T** place) {
    return static_cast<void**>(static_cast<void*>(place));
}

template <class T>
inline __host__ cudaError_t cudaMalloc(T** devPtr, size_t size) {
    return cudaMalloc(hmmCudaUntyped(devPtr), size);
}

template <class T>
inline __host__ cudaError_t cudaMallocManaged(T** devPtr, size_t size,
                                              unsigned int flags = cudaMemAttachGlobal) {
    return cudaMallocManaged(hmmCudaUntyped(devPtr), size, flags);
}

template <class T>
inline __host__ cudaError_t cudaMallocHost(T** ptr, size_t size,
                                           unsigned int flags = cudaHostAllocDefault) {
    return cudaHostAlloc(hmmCudaUntyped(ptr), size, flags);
}

template <class T>
inline __host__ cudaError_t cudaHostAlloc(T** ptr, size_t size, unsigned int flags) {
    return cudaHostAlloc(hmmCudaUntyped(ptr), size, flags);
}

template <class T>
inline __host__ cudaError_t cudaHostGetDevicePointer(T** pDevice, void* pHost, unsigned int flags) {
    return cudaHostGetDevicePointer(hmmCudaUntyped(pDevice), pHost, flags);
}

template <class T>
inline __host__ cudaError_t cudaMallocPitch(T** devPtr, size_t* pitch, size_t width,
                                            size_t height) {
    return cudaMallocPitch(hmmCudaUntyped(devPtr), pitch, width, height);
}

template <class T>
inline __host__ cudaError_t cudaMallocAsync(T** ptr, size_t size, cudaStream_t stream) {
    return cudaMallocAsync(hmmCudaUntyped(ptr), size, stream);
}

template <class T>
inline __host__ cudaError_t cudaMallocFromPoolAsync(T** ptr, size_t size, cudaMemPool_t memPool,
                                                    cudaStream_t stream) {
    return cudaMallocFromPoolAsync(hmmCudaUntyped(ptr), size, memPool, stream);
}

inline __host__ cudaError_t cudaMallocAsync(void** ptr, size_t size, cudaMemPool_t memPool,
                                            cudaStream_t stream) {
    return cudaMallocFromPoolAsync(ptr, size, memPool, stream);
}

template <class T>
inline __host__ cudaError_t cudaMallocAsync(T** ptr, size_t size, cudaMemPool_t memPool,
                                            cudaStream_t stream) {
    return cudaMallocFromPoolAsync(hmmCudaUntyped(ptr), size, memPool, stream);
}

template <class T>
inline __host__ cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T* devPtr,
                                                     size_t length = 0,
                                                     unsigned int flags = cudaMemAttachSingle) {
    return cudaStreamAttachMemAsync(
        stream, const_cast<void*>(static_cast<const volatile void*>(devPtr)), length, flags);
}

/* ---- locations in place of devices ------------------------------------ */

inline __host__ cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t count,
                                                 cudaMemLocation location, unsigned int flags,
                                                 cudaStream_t stream = nullptr) {
    return cudaMemPrefetchAsync_v2(devPtr, count, location, flags, stream);
}

inline __host__ cudaError_t cudaMemAdvise(const void* devPtr, size_t count, cudaMemoryAdvise advice,
                                          cudaMemLocation location) {
    return cudaMemAdvise_v2(devPtr, count, advice, location);
}

inline __host__ cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
    return cudaEventCreateWithFlags(event, flags);
}

/* The form with a place for messages, which stays empty: graphs are refused. */
inline __host__ cudaError_t cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                                 cudaGraphNode_t* /*pErrorNode*/,
                                                 char* /*pLogBuffer*/, size_t /*bufferSize*/) {
    return cudaGraphInstantiate(pGraphExec, graph, 0);
}

/* ---- variables of device code ----------------------------------------- */

/* The size of a variable; that of an array without a bound is not known. */
template <class T>
struct hmmCudaSizeOf {
    static constexpr size_t value = sizeof(T);
};
template <class T>
struct hmmCudaSizeOf<T[]> {
    static constexpr size_t value = ~size_t{0};
};

template <class T>
inline __host__ cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* src, size_t count,
                                               size_t offset = 0,
                                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    const cudaError_t error = hmmCudaCheckSymbol(hmmCudaSizeOf<T>::value, count, offset);
    if (error != cudaSuccess) return error;
    return cudaMemcpyToSymbol(reinterpret_cast<const void*>(&symbol), src, count, offset, kind);
}

template <class T>
inline __host__ cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* src, size_t count,
                                                    size_t offset = 0,
                                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                                    cudaStream_t stream = nullptr) {
    const cudaError_t error = hmmCudaCheckSymbol(hmmCudaSizeOf<T>::value, count, offset);
    if (error != cudaSuccess) return error;
    return cudaMemcpyToSymbolAsync(reinterpret_cast<const void*>(&symbol), src, count, offset, kind,
                                   stream);
}

template <class T>
inline __host__ cudaError_t cudaMemcpyFromSymbol(void* dst, const T& symbol, size_t count,
                                                 size_t offset = 0,
                                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    const cudaError_t error = hmmCudaCheckSymbol(hmmCudaSizeOf<T>::value, count, offset);
    if (error != cudaSuccess) return error;
    return cudaMemcpyFromSymbol(dst, reinterpret_cast<const void*>(&symbol), count, offset, kind);
}

template <class T>
inline __host__ cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const T& symbol, size_t count,
                                                      size_t offset = 0,
                                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                                      cudaStream_t stream = nullptr) {
    const cudaError_t error = hmmCudaCheckSymbol(hmmCudaSizeOf<T>::value, count, offset);
    if (error != cudaSuccess) return error;
    return cudaMemcpyFromSymbolAsync(dst, reinterpret_cast<const void*>(&symbol), count, offset,
                                     kind, stream);
}

template <class T>
inline __host__ cudaError_t cudaGetSymbolAddress(void** devPtr, const T& symbol) {
    return cudaGetSymbolAddress(devPtr, reinterpret_cast<const void*>(&symbol));
}

template <class T>
inline __host__ cudaError_t cudaGetSymbolSize(size_t* size, const T& symbol) {
    void* address = nullptr;
    // the check of the symbol, and the record of its failure
    const cudaError_t error = cudaGetSymbolAddress(size != nullptr ? &address : nullptr, symbol);
    if (error == cudaSuccess) *size = sizeof(symbol);
    return error;
}

/* ---- kernels ---------------------------------------------------------- */

template <class T>
inline __host__ cudaError_t cudaLaunchKernel(T* func, dim3 gridDim, dim3 blockDim, void** args,
                                             size_t sharedMem = 0, cudaStream_t stream = nullptr) {
    return cudaLaunchKernel(reinterpret_cast<const void*>(func), gridDim, blockDim, args, sharedMem,
                            stream);
}

template <class T>
inline __host__ cudaError_t cudaLaunchCooperativeKernel(T* func, dim3 gridDim, dim3 blockDim,
                                                        void** args, size_t sharedMem = 0,
                                                        cudaStream_t stream = nullptr) {
    return cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(func), gridDim, blockDim, args,
                                       sharedMem, stream);
}

template <class T>
inline __host__ cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attr, T* entry) {
    return cudaFuncGetAttributes(attr, reinterpret_cast<const void*>(entry));
}

template <class T>
inline __host__ cudaError_t cudaFuncSetAttribute(T* func, cudaFuncAttribute attr, int value) {
    return cudaFuncSetAttribute(reinterpret_cast<const void*>(func), attr, value);
}

template <class T>
inline __host__ cudaError_t cudaFuncSetCacheConfig(T* func, cudaFuncCache config) {
    return cudaFuncSetCacheConfig(reinterpret_cast<const void*>(func), config);
}

template <class T>
inline __host__ cudaError_t cudaFuncSetSharedMemConfig(T* func, cudaSharedMemConfig config) {
    return cudaFuncSetSharedMemConfig(reinterpret_cast<const void*>(func), config);
}

template <class T>
inline __host__ cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, T* func,
                                                                          int blockSize,
                                                                          size_t dynamicSMemSize) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        numBlocks, reinterpret_cast<const void*>(func), blockSize, dynamicSMemSize);
}

template <class T>
inline __host__ cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* numBlocks, T* func, int blockSize, size_t dynamicSMemSize, unsigned int flags) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, reinterpret_cast<const void*>(func), blockSize, dynamicSMemSize, flags);
}

template <class T>
inline __host__ cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize,
                                                                      T* func, int numBlocks,
                                                                      int blockSize) {
    return cudaOccupancyAvailableDynamicSMemPerBlock(
        dynamicSmemSize, reinterpret_cast<const void*>(func), numBlocks, blockSize);
}

extern "C" {
/*
 * For the templates below: the greatest block of a kernel, not above @limit if
 * that is not 0, that is a multiple of the warp and has as much shared memory
 * as bytes_of(block, context) says; and the number of blocks that occupies all
 * lanes.
 */
extern cudaError_t CUDARTAPI hmmCudaPotentialBlockSize(int* minGridSize, int* blockSize,
                                                       const void* func,
                                                       size_t (*bytes_of)(int block, void* context),
                                                       void* context, int limit);
}

template <class UnaryFunction, class T>
inline __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(
    int* minGridSize, int* blockSize, T* func, UnaryFunction blockSizeToDynamicSMemSize,
    int blockSizeLimit = 0) {
    struct call {
        static size_t bytes(int block, void* function) {
            return static_cast<size_t>((*static_cast<UnaryFunction*>(function))(block));
        }
    };
    return hmmCudaPotentialBlockSize(minGridSize, blockSize, reinterpret_cast<const void*>(func),
                                     call::bytes, &blockSizeToDynamicSMemSize, blockSizeLimit);
}

template <class UnaryFunction, class T>
inline __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
    int* minGridSize, int* blockSize, T* func, UnaryFunction blockSizeToDynamicSMemSize,
    int blockSizeLimit = 0, unsigned int /*flags*/ = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
        minGridSize, blockSize, func, blockSizeToDynamicSMemSize, blockSizeLimit);
}

template <class T>
inline __host__ cudaError_t cudaOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize,
                                                               T func, size_t dynamicSMemSize = 0,
                                                               int blockSizeLimit = 0) {
    struct call {
        static size_t bytes(int, void* size) { return *static_cast<size_t*>(size); }
    };
    return hmmCudaPotentialBlockSize(minGridSize, blockSize, reinterpret_cast<const void*>(func),
                                     call::bytes, &dynamicSMemSize, blockSizeLimit);
}

template <class T>
inline __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(
    int* minGridSize, int* blockSize, T func, size_t dynamicSMemSize = 0, int blockSizeLimit = 0,
    unsigned int /*flags*/ = 0) {
    return cudaOccupancyMaxPotentialBlockSize(minGridSize, blockSize, func, dynamicSMemSize,
                                              blockSizeLimit);
}

#endif // HMM_CUDA_CUDA_RUNTIME_OVERLOADS_H
