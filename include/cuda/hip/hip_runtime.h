/* SPDX-License-Identifier: MIT */
/*
 * HIP: its runtime interface, in C++ also with pointers of any type, kernels
 * and variables, and what HIP's device code has that CUDA's has not.
 */
#ifndef HMM_CUDA_HIP_RUNTIME_H
#define HMM_CUDA_HIP_RUNTIME_H

#include "../cuda_runtime.h"
#include "hip_runtime_api.h"

#define HIP_SYMBOL(symbol) symbol
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_DYNAMIC_SHARED_ATTRIBUTE

#ifdef __cplusplus

/* ---- pointers of any type --------------------------------------------- */

template <class T>
inline __host__ hipError_t hipMalloc(T** ptr, size_t size) {
    return hipMalloc(hmmCudaUntyped(ptr), size);
}
template <class T>
inline __host__ hipError_t hipMallocManaged(T** ptr, size_t size,
                                            unsigned int flags = hipMemAttachGlobal) {
    return hipMallocManaged(hmmCudaUntyped(ptr), size, flags);
}
template <class T>
inline __host__ hipError_t hipHostMalloc(T** ptr, size_t size,
                                         unsigned int flags = hipHostMallocDefault) {
    return hipHostMalloc(hmmCudaUntyped(ptr), size, flags);
}
template <class T>
inline __host__ hipError_t hipHostAlloc(T** ptr, size_t size, unsigned int flags) {
    return hipHostAlloc(hmmCudaUntyped(ptr), size, flags);
}
template <class T>
inline __host__ hipError_t hipMallocHost(T** ptr, size_t size) {
    return hipMallocHost(hmmCudaUntyped(ptr), size);
}
template <class T>
inline __host__ hipError_t hipHostGetDevicePointer(T** devPtr, void* hostPtr, unsigned int flags) {
    return hipHostGetDevicePointer(hmmCudaUntyped(devPtr), hostPtr, flags);
}
template <class T>
inline __host__ hipError_t hipMallocPitch(T** ptr, size_t* pitch, size_t width, size_t height) {
    return hipMallocPitch(hmmCudaUntyped(ptr), pitch, width, height);
}
template <class T>
inline __host__ hipError_t hipMallocAsync(T** ptr, size_t size, hipStream_t stream) {
    return hipMallocAsync(hmmCudaUntyped(ptr), size, stream);
}

/* ---- variables of device code ----------------------------------------- */

template <class T>
inline __host__ hipError_t hipMemcpyToSymbol(const T& symbol, const void* src, size_t size,
                                             size_t offset = 0,
                                             hipMemcpyKind kind = hipMemcpyHostToDevice) {
    return hmmHipError(
        cudaMemcpyToSymbol(symbol, src, size, offset, static_cast<cudaMemcpyKind>(kind)));
}
template <class T>
inline __host__ hipError_t hipMemcpyToSymbolAsync(const T& symbol, const void* src, size_t size,
                                                  size_t offset, hipMemcpyKind kind,
                                                  hipStream_t stream = nullptr) {
    return hmmHipError(cudaMemcpyToSymbolAsync(symbol, src, size, offset,
                                               static_cast<cudaMemcpyKind>(kind), stream));
}
template <class T>
inline __host__ hipError_t hipMemcpyFromSymbol(void* dst, const T& symbol, size_t size,
                                               size_t offset = 0,
                                               hipMemcpyKind kind = hipMemcpyDeviceToHost) {
    return hmmHipError(
        cudaMemcpyFromSymbol(dst, symbol, size, offset, static_cast<cudaMemcpyKind>(kind)));
}
template <class T>
inline __host__ hipError_t hipMemcpyFromSymbolAsync(void* dst, const T& symbol, size_t size,
                                                    size_t offset, hipMemcpyKind kind,
                                                    hipStream_t stream = nullptr) {
    return hmmHipError(cudaMemcpyFromSymbolAsync(dst, symbol, size, offset,
                                                 static_cast<cudaMemcpyKind>(kind), stream));
}
template <class T>
inline __host__ hipError_t hipGetSymbolAddress(void** devPtr, const T& symbol) {
    return hmmHipError(cudaGetSymbolAddress(devPtr, symbol));
}
template <class T>
inline __host__ hipError_t hipGetSymbolSize(size_t* size, const T& symbol) {
    return hmmHipError(cudaGetSymbolSize(size, symbol));
}

/* ---- kernels ---------------------------------------------------------- */

template <class T>
inline __host__ hipError_t hipLaunchKernel(T* function, dim3 numBlocks, dim3 dimBlocks, void** args,
                                           size_t sharedMemBytes = 0,
                                           hipStream_t stream = nullptr) {
    return hipLaunchKernel(reinterpret_cast<const void*>(function), numBlocks, dimBlocks, args,
                           sharedMemBytes, stream);
}
template <class T>
inline __host__ hipError_t hipLaunchCooperativeKernel(T* function, dim3 numBlocks, dim3 dimBlocks,
                                                      void** args, unsigned int sharedMemBytes,
                                                      hipStream_t stream) {
    return hipLaunchCooperativeKernel(reinterpret_cast<const void*>(function), numBlocks, dimBlocks,
                                      args, sharedMemBytes, stream);
}
template <class T>
inline __host__ hipError_t hipFuncGetAttributes(hipFuncAttributes* attr, T* function) {
    return hipFuncGetAttributes(attr, reinterpret_cast<const void*>(function));
}
template <class T>
inline __host__ hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, T* function,
                                                                        int blockSize,
                                                                        size_t dynSharedMemPerBlk) {
    return hipOccupancyMaxActiveBlocksPerMultiprocessor(
        numBlocks, reinterpret_cast<const void*>(function), blockSize, dynSharedMemPerBlk);
}
template <class T>
inline __host__ hipError_t hipOccupancyMaxPotentialBlockSize(int* gridSize, int* blockSize,
                                                             T function,
                                                             size_t dynSharedMemPerBlk = 0,
                                                             int blockSizeLimit = 0) {
    return hmmHipError(cudaOccupancyMaxPotentialBlockSize(gridSize, blockSize, function,
                                                          dynSharedMemPerBlk, blockSizeLimit));
}

#ifdef __CUDACC__

#define hipLaunchKernelGGL(kernel, numBlocks, numThreads, sharedMemBytes, stream, ...)             \
    do {                                                                                           \
        kernel<<<(numBlocks), (numThreads), (sharedMemBytes), (stream)>>>(__VA_ARGS__);            \
    } while (0)

/* ---- device code ------------------------------------------------------ */

#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z

/* Operations of warps without a mask are for the threads that are there. */
template <class T>
HMM_CUDA_DEVICE T __shfl(T value, int source, int width = 32) {
    return __shfl_sync(__activemask(), value, source, width);
}
template <class T>
HMM_CUDA_DEVICE T __shfl_up(T value, unsigned int delta, int width = 32) {
    return __shfl_up_sync(__activemask(), value, delta, width);
}
template <class T>
HMM_CUDA_DEVICE T __shfl_down(T value, unsigned int delta, int width = 32) {
    return __shfl_down_sync(__activemask(), value, delta, width);
}
template <class T>
HMM_CUDA_DEVICE T __shfl_xor(T value, int lanes, int width = 32) {
    return __shfl_xor_sync(__activemask(), value, lanes, width);
}
HMM_CUDA_DEVICE unsigned long long __ballot(int condition) {
    return __ballot_sync(__activemask(), condition);
}
HMM_CUDA_DEVICE int __any(int condition) {
    return __any_sync(__activemask(), condition);
}
HMM_CUDA_DEVICE int __all(int condition) {
    return __all_sync(__activemask(), condition);
}
HMM_CUDA_DEVICE unsigned int __lane_id() {
    return __hmm_lane();
}
HMM_CUDA_DEVICE long long wall_clock64() {
    return clock64();
}
template <class T>
HMM_CUDA_DEVICE T unsafeAtomicAdd(T* address, T value) {
    return atomicAdd(address, value);
}
template <class T>
HMM_CUDA_DEVICE T safeAtomicAdd(T* address, T value) {
    return atomicAdd(address, value);
}

#endif /* __CUDACC__ */
#endif /* __cplusplus */

#endif /* HMM_CUDA_HIP_RUNTIME_H */
