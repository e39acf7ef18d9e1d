/* SPDX-License-Identifier: MIT */
/*
 * HIP's runtime interface, for C and C++: each function is the one of
 * cuda_runtime_api.h with cuda in place of hip, and returns HIP's error.
 */
#ifndef HMM_CUDA_HIP_RUNTIME_API_H
#define HMM_CUDA_HIP_RUNTIME_API_H

#include "../cuda_runtime_api.h"
#include "hip_types.h"

#include <stdlib.h>
#include <string.h>

/* Flags of HIP alone are above these. */
#define HMM_HIP_KNOWN_FLAGS 0xffffU

/* ---- errors ----------------------------------------------------------- */

/* CUDA's errors that HIP has, too, have the same number. */
static __inline__ __host__ hipError_t hmmHipError(cudaError_t error) {
    switch ((int)error) {
    case cudaSuccess:
        return hipSuccess;
#define HMM_HIP_ERROR(name, number)                                                                \
    case number:                                                                                   \
        return hipError##name;
#include "hip_error_list.h"
#undef HMM_HIP_ERROR
    default:
        return hipErrorUnknown;
    }
}

static __inline__ __host__ hipError_t hipGetLastError(void) {
    return hmmHipError(cudaGetLastError());
}

static __inline__ __host__ hipError_t hipPeekAtLastError(void) {
    return hmmHipError(cudaPeekAtLastError());
}

static __inline__ __host__ const char* hipGetErrorName(hipError_t error) {
    switch (error) {
    case hipSuccess:
        return "hipSuccess";
#define HMM_HIP_ERROR(name, number)                                                                \
    case hipError##name:                                                                           \
        return "hipError" #name;
#include "hip_error_list.h"
#undef HMM_HIP_ERROR
    default:
        return "hipErrorUnknown";
    }
}

static __inline__ __host__ const char* hipGetErrorString(hipError_t error) {
    return cudaGetErrorString((cudaError_t)error);
}

/* ---- devices ------------------------------------------------------------ */

static __inline__ __host__ hipError_t hipGetDeviceCount(int* count) {
    return hmmHipError(cudaGetDeviceCount(count));
}

static __inline__ __host__ hipError_t hipSetDevice(int device) {
    return hmmHipError(cudaSetDevice(device));
}

static __inline__ __host__ hipError_t hipGetDevice(int* device) {
    return hmmHipError(cudaGetDevice(device));
}

static __inline__ __host__ hipError_t hipDeviceSynchronize(void) {
    return hmmHipError(cudaDeviceSynchronize());
}

static __inline__ __host__ hipError_t hipDeviceReset(void) {
    return hmmHipError(cudaDeviceReset());
}

static __inline__ __host__ hipError_t hipSetDeviceFlags(unsigned int flags) {
    return hmmHipError(cudaSetDeviceFlags(flags));
}

static __inline__ __host__ hipError_t hipGetDeviceFlags(unsigned int* flags) {
    return hmmHipError(cudaGetDeviceFlags(flags));
}

static __inline__ __host__ hipError_t hipDeviceGetLimit(size_t* value, enum hipLimit_t limit) {
    return hmmHipError(cudaDeviceGetLimit(value, (enum cudaLimit)limit));
}

static __inline__ __host__ hipError_t hipDeviceSetLimit(enum hipLimit_t limit, size_t value) {
    return hmmHipError(cudaDeviceSetLimit((enum cudaLimit)limit, value));
}

static __inline__ __host__ hipError_t hipDeviceSetCacheConfig(hipFuncCache_t config) {
    return hmmHipError(cudaDeviceSetCacheConfig((enum cudaFuncCache)config));
}

static __inline__ __host__ hipError_t hipDeviceGetStreamPriorityRange(int* leastPriority,
                                                                      int* greatestPriority) {
    return hmmHipError(cudaDeviceGetStreamPriorityRange(leastPriority, greatestPriority));
}

static __inline__ __host__ hipError_t hipDeviceCanAccessPeer(int* canAccessPeer, int device,
                                                             int peerDevice) {
    return hmmHipError(cudaDeviceCanAccessPeer(canAccessPeer, device, peerDevice));
}

static __inline__ __host__ hipError_t hipDeviceEnablePeerAccess(int peerDevice,
                                                                unsigned int flags) {
    return hmmHipError(cudaDeviceEnablePeerAccess(peerDevice, flags));
}

static __inline__ __host__ hipError_t hipDeviceDisablePeerAccess(int peerDevice) {
    return hmmHipError(cudaDeviceDisablePeerAccess(peerDevice));
}

static __inline__ __host__ hipError_t hipDeviceGetPCIBusId(char* pciBusId, int len, int device) {
    return hmmHipError(cudaDeviceGetPCIBusId(pciBusId, len, device));
}

static __inline__ __host__ hipError_t hipDeviceGetByPCIBusId(int* device, const char* pciBusId) {
    return hmmHipError(cudaDeviceGetByPCIBusId(device, pciBusId));
}

static __inline__ __host__ hipError_t hipDriverGetVersion(int* driverVersion) {
    return hmmHipError(cudaDriverGetVersion(driverVersion));
}

static __inline__ __host__ hipError_t hipInit(unsigned int flags) {
    return flags == 0 ? hipSuccess : hipErrorInvalidValue;
}

/* The version that the headers have. */
static __inline__ __host__ hipError_t hipRuntimeGetVersion(int* runtimeVersion) {
    if (runtimeVersion == NULL) return hipErrorInvalidValue;
    *runtimeVersion = HIP_VERSION;
    return hipSuccess;
}

static __inline__ __host__ hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attr,
                                                            int device) {
    enum cudaDeviceAttr known;
    switch (attr) {
#define HMM_HIP_ATTRIBUTE(name, cudaName)                                                          \
    case hipDeviceAttribute##name:                                                                 \
        known = cudaDevAttr##cudaName;                                                             \
        break;
#include "hip_attribute_list.h"
#undef HMM_HIP_ATTRIBUTE
    default:
        return hipErrorInvalidValue;
    }
    return hmmHipError(cudaDeviceGetAttribute(value, known, device));
}

static __inline__ __host__ hipError_t hipGetDeviceProperties(hipDeviceProp_t* prop, int device) {
    struct cudaDeviceProp known;
    const hipError_t error =
        hmmHipError(cudaGetDeviceProperties(prop != NULL ? &known : NULL, device));
    if (error != hipSuccess) return error;
    memset(prop, 0, sizeof(*prop));
    memcpy(prop->name, known.name, sizeof(prop->name));
    memcpy(&prop->uuid, &known.uuid, sizeof(prop->uuid));
    memcpy(prop->maxThreadsDim, known.maxThreadsDim, sizeof(prop->maxThreadsDim));
    memcpy(prop->maxGridSize, known.maxGridSize, sizeof(prop->maxGridSize));
#define HMM_HIP_PROPERTY(type, name) prop->name = known.name;
#include "hip_property_list.h"
#undef HMM_HIP_PROPERTY
    prop->maxSharedMemoryPerMultiProcessor = known.sharedMemPerMultiprocessor;
    prop->clockInstructionRate = known.clockRate;
    prop->isLargeBar = known.directManagedMemAccessFromHost;
    prop->arch.hasGlobalInt32Atomics = prop->arch.hasSharedInt32Atomics = 1;
    prop->arch.hasGlobalInt64Atomics = prop->arch.hasSharedInt64Atomics = 1;
    prop->arch.hasFloatAtomicAdd = prop->arch.hasDoubles = 1;
    prop->arch.hasWarpVote = prop->arch.hasWarpBallot = prop->arch.hasWarpShuffle = 1;
    prop->arch.hasThreadFenceSystem = prop->arch.hasSyncThreadsExt = prop->arch.has3dGrid = 1;
    return hipSuccess;
}

static __inline__ __host__ hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
    int count = 0;
    const hipError_t error = hipGetDeviceCount(&count);
    if (error != hipSuccess) return error;
    if (device == NULL) return hipErrorInvalidValue;
    if (ordinal < 0 || ordinal >= count) return hipErrorInvalidDevice;
    *device = ordinal;
    return hipSuccess;
}

static __inline__ __host__ hipError_t hipDeviceGetName(char* name, int len, hipDevice_t device) {
    hipDeviceProp_t known;
    if (name == NULL || len <= 0) return hipErrorInvalidValue;
    const hipError_t error = hipGetDeviceProperties(&known, device);
    if (error != hipSuccess) return error;
    strncpy(name, known.name, (size_t)len - 1);
    name[len - 1] = 0;
    return hipSuccess;
}

/* ---- allocation --------------------------------------------------------- */

static __inline__ __host__ hipError_t hipMalloc(void** ptr, size_t size) {
    return hmmHipError(cudaMalloc(ptr, size));
}

static __inline__ __host__ hipError_t hipFree(void* ptr) {
    return hmmHipError(cudaFree(ptr));
}

static __inline__ __host__ hipError_t
hipMallocManaged(void** ptr, size_t size, unsigned int flags HMM_CUDA_DEFAULT(hipMemAttachGlobal)) {
    return hmmHipError(cudaMallocManaged(ptr, size, flags));
}

static __inline__ __host__ hipError_t
hipHostMalloc(void** ptr, size_t size, unsigned int flags HMM_CUDA_DEFAULT(hipHostMallocDefault)) {
    return hmmHipError(cudaHostAlloc(ptr, size, flags & HMM_HIP_KNOWN_FLAGS));
}

static __inline__ __host__ hipError_t hipHostAlloc(void** ptr, size_t size, unsigned int flags) {
    return hmmHipError(cudaHostAlloc(ptr, size, flags & HMM_HIP_KNOWN_FLAGS));
}

static __inline__ __host__ hipError_t hipMallocHost(void** ptr, size_t size) {
    return hmmHipError(cudaMallocHost(ptr, size));
}

static __inline__ __host__ hipError_t hipHostFree(void* ptr) {
    return hmmHipError(cudaFreeHost(ptr));
}

static __inline__ __host__ hipError_t hipFreeHost(void* ptr) {
    return hmmHipError(cudaFreeHost(ptr));
}

static __inline__ __host__ hipError_t hipHostRegister(void* ptr, size_t size, unsigned int flags) {
    return hmmHipError(cudaHostRegister(ptr, size, flags));
}

static __inline__ __host__ hipError_t hipHostUnregister(void* ptr) {
    return hmmHipError(cudaHostUnregister(ptr));
}

static __inline__ __host__ hipError_t hipHostGetDevicePointer(void** devPtr, void* hostPtr,
                                                              unsigned int flags) {
    return hmmHipError(cudaHostGetDevicePointer(devPtr, hostPtr, flags));
}

static __inline__ __host__ hipError_t hipHostGetFlags(unsigned int* flags, void* hostPtr) {
    return hmmHipError(cudaHostGetFlags(flags, hostPtr));
}

static __inline__ __host__ hipError_t hipMallocPitch(void** ptr, size_t* pitch, size_t width,
                                                     size_t height) {
    return hmmHipError(cudaMallocPitch(ptr, pitch, width, height));
}

static __inline__ __host__ hipError_t hipMallocAsync(void** ptr, size_t size, hipStream_t stream) {
    return hmmHipError(cudaMallocAsync(ptr, size, stream));
}

static __inline__ __host__ hipError_t hipFreeAsync(void* ptr, hipStream_t stream) {
    return hmmHipError(cudaFreeAsync(ptr, stream));
}

static __inline__ __host__ hipError_t hipMemGetInfo(size_t* free, size_t* total) {
    return hmmHipError(cudaMemGetInfo(free, total));
}

/* ---- copies and fills --------------------------------------------------- */

static __inline__ __host__ hipError_t hipMemcpy(void* dst, const void* src, size_t size,
                                                hipMemcpyKind kind) {
    return hmmHipError(cudaMemcpy(dst, src, size, (enum cudaMemcpyKind)kind));
}

static __inline__ __host__ hipError_t hipMemcpyAsync(void* dst, const void* src, size_t size,
                                                     hipMemcpyKind kind,
                                                     hipStream_t stream HMM_CUDA_DEFAULT(nullptr)) {
    return hmmHipError(cudaMemcpyAsync(dst, src, size, (enum cudaMemcpyKind)kind, stream));
}

static __inline__ __host__ hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, const void* src,
                                                    size_t size) {
    return hmmHipError(cudaMemcpy(dst, src, size, cudaMemcpyHostToDevice));
}

static __inline__ __host__ hipError_t hipMemcpyDtoH(void* dst, hipDeviceptr_t src, size_t size) {
    return hmmHipError(cudaMemcpy(dst, src, size, cudaMemcpyDeviceToHost));
}

static __inline__ __host__ hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src,
                                                    size_t size) {
    return hmmHipError(cudaMemcpy(dst, src, size, cudaMemcpyDeviceToDevice));
}

static __inline__ __host__ hipError_t hipMemcpyPeer(void* dst, int dstDevice, const void* src,
                                                    int srcDevice, size_t size) {
    return hmmHipError(cudaMemcpyPeer(dst, dstDevice, src, srcDevice, size));
}

static __inline__ __host__ hipError_t
hipMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t size,
                   hipStream_t stream HMM_CUDA_DEFAULT(nullptr)) {
    return hmmHipError(cudaMemcpyPeerAsync(dst, dstDevice, src, srcDevice, size, stream));
}

static __inline__ __host__ hipError_t hipMemcpy2D(void* dst, size_t dpitch, const void* src,
                                                  size_t spitch, size_t width, size_t height,
                                                  hipMemcpyKind kind) {
    return hmmHipError(
        cudaMemcpy2D(dst, dpitch, src, spitch, width, height, (enum cudaMemcpyKind)kind));
}

static __inline__ __host__ hipError_t
hipMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                 size_t height, hipMemcpyKind kind, hipStream_t stream HMM_CUDA_DEFAULT(nullptr)) {
    return hmmHipError(cudaMemcpy2DAsync(dst, dpitch, src, spitch, width, height,
                                         (enum cudaMemcpyKind)kind, stream));
}

static __inline__ __host__ hipError_t hipMemset(void* dst, int value, size_t size) {
    return hmmHipError(cudaMemset(dst, value, size));
}

static __inline__ __host__ hipError_t hipMemsetAsync(void* dst, int value, size_t size,
                                                     hipStream_t stream HMM_CUDA_DEFAULT(nullptr)) {
    return hmmHipError(cudaMemsetAsync(dst, value, size, stream));
}

static __inline__ __host__ hipError_t hipMemsetD8(hipDeviceptr_t dst, unsigned char value,
                                                  size_t count) {
    return hmmHipError(cudaMemset(dst, value, count));
}

static __inline__ __host__ hipError_t hipMemset2D(void* dst, size_t pitch, int value, size_t width,
                                                  size_t height) {
    return hmmHipError(cudaMemset2D(dst, pitch, value, width, height));
}

static __inline__ __host__ hipError_t
hipMemset2DAsync(void* dst, size_t pitch, int value, size_t width, size_t height,
                 hipStream_t stream HMM_CUDA_DEFAULT(nullptr)) {
    return hmmHipError(cudaMemset2DAsync(dst, pitch, value, width, height, stream));
}

/* ---- where memory is ---------------------------------------------------- */

static __inline__ __host__ hipError_t hipMemPrefetchAsync(
    const void* ptr, size_t count, int device, hipStream_t stream HMM_CUDA_DEFAULT(nullptr)) {
    return hmmHipError(cudaMemPrefetchAsync(ptr, count, device, stream));
}

static __inline__ __host__ hipError_t hipMemRangeGetAttribute(void* data, size_t dataSize,
                                                              hipMemRangeAttribute attribute,
                                                              const void* ptr, size_t count) {
    return hmmHipError(cudaMemRangeGetAttribute(data, dataSize,
                                                (enum cudaMemRangeAttribute)attribute, ptr, count));
}

static __inline__ __host__ hipError_t hipMemAdvise(const void* ptr, size_t count,
                                                   hipMemoryAdvise advice, int device) {
    if (advice == hipMemAdviseSetCoarseGrain || advice == hipMemAdviseUnsetCoarseGrain)
        return hipSuccess;
    return hmmHipError(cudaMemAdvise(ptr, count, (enum cudaMemoryAdvise)advice, device));
}

static __inline__ __host__ hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes,
                                                              const void* ptr) {
    struct cudaPointerAttributes known;
    const hipError_t error =
        hmmHipError(cudaPointerGetAttributes(attributes != NULL ? &known : NULL, ptr));
    if (error != hipSuccess) return error;
    attributes->type = (enum hipMemoryType)known.type;
    attributes->device = known.device;
    attributes->devicePointer = known.devicePointer;
    attributes->hostPointer = known.hostPointer;
    attributes->isManaged = known.type == cudaMemoryTypeManaged;
    attributes->allocationFlags = 0;
    return hipSuccess;
}

/* ---- streams ------------------------------------------------------------ */

static __inline__ __host__ hipError_t hipStreamCreate(hipStream_t* stream) {
    return hmmHipError(cudaStreamCreate(stream));
}

static __inline__ __host__ hipError_t hipStreamCreateWithFlags(hipStream_t* stream,
                                                               unsigned int flags) {
    return hmmHipError(cudaStreamCreateWithFlags(stream, flags));
}

static __inline__ __host__ hipError_t hipStreamCreateWithPriority(hipStream_t* stream,
                                                                  unsigned int flags,
                                                                  int priority) {
    return hmmHipError(cudaStreamCreateWithPriority(stream, flags, priority));
}

static __inline__ __host__ hipError_t hipStreamDestroy(hipStream_t stream) {
    return hmmHipError(cudaStreamDestroy(stream));
}

static __inline__ __host__ hipError_t hipStreamSynchronize(hipStream_t stream) {
    return hmmHipError(cudaStreamSynchronize(stream));
}

static __inline__ __host__ hipError_t hipStreamQuery(hipStream_t stream) {
    return hmmHipError(cudaStreamQuery(stream));
}

static __inline__ __host__ hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event,
                                                         unsigned int flags HMM_CUDA_DEFAULT(0)) {
    return hmmHipError(cudaStreamWaitEvent(stream, event, flags));
}

static __inline__ __host__ hipError_t hipStreamGetFlags(hipStream_t stream, unsigned int* flags) {
    return hmmHipError(cudaStreamGetFlags(stream, flags));
}

static __inline__ __host__ hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
    return hmmHipError(cudaStreamGetPriority(stream, priority));
}

static __inline__ __host__ hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
    return hmmHipError(cudaStreamGetDevice(stream, device));
}

static __inline__ __host__ hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t fn,
                                                        void* userData) {
    return hmmHipError(cudaLaunchHostFunc(stream, fn, userData));
}

static __inline__ __host__ hipError_t
hipStreamAttachMemAsync(hipStream_t stream, void* ptr, size_t length HMM_CUDA_DEFAULT(0),
                        unsigned int flags HMM_CUDA_DEFAULT(hipMemAttachSingle)) {
    return hmmHipError(cudaStreamAttachMemAsync(stream, ptr, length, flags));
}

/* The callback gets an error of HIP. */
struct hmmHipCallback {
    hipStreamCallback_t callback;
    void* userData;
};

static __inline__ __host__ void hmmHipCall(cudaStream_t stream, cudaError_t status, void* call) {
    const struct hmmHipCallback known = *(struct hmmHipCallback*)call;
    free(call);
    known.callback(stream, hmmHipError(status), known.userData);
}

static __inline__ __host__ hipError_t hipStreamAddCallback(hipStream_t stream,
                                                           hipStreamCallback_t callback,
                                                           void* userData, unsigned int flags) {
    struct hmmHipCallback* call;
    hipError_t error;
    if (callback == NULL) return hipErrorInvalidValue;
    call = (struct hmmHipCallback*)malloc(sizeof(*call));
    if (call == NULL) return hipErrorOutOfMemory;
    call->callback = callback;
    call->userData = userData;
    error = hmmHipError(cudaStreamAddCallback(stream, hmmHipCall, call, flags));
    if (error != hipSuccess) free(call);
    return error;
}

/* ---- events ------------------------------------------------------------- */

static __inline__ __host__ hipError_t hipEventCreate(hipEvent_t* event) {
    return hmmHipError(cudaEventCreate(event));
}

static __inline__ __host__ hipError_t hipEventCreateWithFlags(hipEvent_t* event,
                                                              unsigned int flags) {
    return hmmHipError(cudaEventCreateWithFlags(event, flags & HMM_HIP_KNOWN_FLAGS));
}

static __inline__ __host__ hipError_t hipEventRecord(hipEvent_t event,
                                                     hipStream_t stream HMM_CUDA_DEFAULT(nullptr)) {
    return hmmHipError(cudaEventRecord(event, stream));
}

static __inline__ __host__ hipError_t hipEventQuery(hipEvent_t event) {
    return hmmHipError(cudaEventQuery(event));
}

static __inline__ __host__ hipError_t hipEventSynchronize(hipEvent_t event) {
    return hmmHipError(cudaEventSynchronize(event));
}

static __inline__ __host__ hipError_t hipEventElapsedTime(float* ms, hipEvent_t start,
                                                          hipEvent_t stop) {
    return hmmHipError(cudaEventElapsedTime(ms, start, stop));
}

static __inline__ __host__ hipError_t hipEventDestroy(hipEvent_t event) {
    return hmmHipError(cudaEventDestroy(event));
}

/* ---- variables of device code, and kernels ------------------------------ */

static __inline__ __host__ hipError_t hipMemcpyToSymbol(
    const void* symbol, const void* src, size_t size, size_t offset HMM_CUDA_DEFAULT(0),
    hipMemcpyKind kind HMM_CUDA_DEFAULT(hipMemcpyHostToDevice)) {
    return hmmHipError(cudaMemcpyToSymbol(symbol, src, size, offset, (enum cudaMemcpyKind)kind));
}

static __inline__ __host__ hipError_t
hipMemcpyFromSymbol(void* dst, const void* symbol, size_t size, size_t offset HMM_CUDA_DEFAULT(0),
                    hipMemcpyKind kind HMM_CUDA_DEFAULT(hipMemcpyDeviceToHost)) {
    return hmmHipError(cudaMemcpyFromSymbol(dst, symbol, size, offset, (enum cudaMemcpyKind)kind));
}

static __inline__ __host__ hipError_t
hipMemcpyToSymbolAsync(const void* symbol, const void* src, size_t size, size_t offset,
                       hipMemcpyKind kind, hipStream_t stream HMM_CUDA_DEFAULT(nullptr)) {
    return hmmHipError(
        cudaMemcpyToSymbolAsync(symbol, src, size, offset, (enum cudaMemcpyKind)kind, stream));
}

static __inline__ __host__ hipError_t
hipMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t size, size_t offset,
                         hipMemcpyKind kind, hipStream_t stream HMM_CUDA_DEFAULT(nullptr)) {
    return hmmHipError(
        cudaMemcpyFromSymbolAsync(dst, symbol, size, offset, (enum cudaMemcpyKind)kind, stream));
}

static __inline__ __host__ hipError_t hipGetSymbolAddress(void** devPtr, const void* symbol) {
    return hmmHipError(cudaGetSymbolAddress(devPtr, symbol));
}

static __inline__ __host__ hipError_t hipLaunchKernel(
    const void* function, dim3 numBlocks, dim3 dimBlocks, void** args,
    size_t sharedMemBytes HMM_CUDA_DEFAULT(0), hipStream_t stream HMM_CUDA_DEFAULT(nullptr)) {
    return hmmHipError(
        cudaLaunchKernel(function, numBlocks, dimBlocks, args, sharedMemBytes, stream));
}

static __inline__ __host__ hipError_t hipLaunchCooperativeKernel(const void* function,
                                                                 dim3 numBlocks, dim3 dimBlocks,
                                                                 void** args,
                                                                 unsigned int sharedMemBytes,
                                                                 hipStream_t stream) {
    return hmmHipError(
        cudaLaunchCooperativeKernel(function, numBlocks, dimBlocks, args, sharedMemBytes, stream));
}

static __inline__ __host__ hipError_t hipFuncSetAttribute(const void* function,
                                                          hipFuncAttribute attribute, int value) {
    return hmmHipError(cudaFuncSetAttribute(function, (enum cudaFuncAttribute)attribute, value));
}

static __inline__ __host__ hipError_t hipFuncSetCacheConfig(const void* function,
                                                            hipFuncCache_t config) {
    return hmmHipError(cudaFuncSetCacheConfig(function, (enum cudaFuncCache)config));
}

static __inline__ __host__ hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(
    int* numBlocks, const void* function, int blockSize, size_t dynSharedMemPerBlk) {
    return hmmHipError(cudaOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, function, blockSize,
                                                                     dynSharedMemPerBlk));
}

static __inline__ __host__ hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* numBlocks, const void* function, int blockSize, size_t dynSharedMemPerBlk,
    unsigned int flags) {
    return hmmHipError(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, function, blockSize, dynSharedMemPerBlk, flags));
}

static __inline__ __host__ hipError_t hipFuncGetAttributes(hipFuncAttributes* attr,
                                                           const void* function) {
    struct cudaFuncAttributes known;
    const hipError_t error =
        hmmHipError(cudaFuncGetAttributes(attr != NULL ? &known : NULL, function));
    if (error != hipSuccess) return error;
    attr->binaryVersion = known.binaryVersion;
    attr->cacheModeCA = known.cacheModeCA;
    attr->constSizeBytes = known.constSizeBytes;
    attr->localSizeBytes = known.localSizeBytes;
    attr->maxDynamicSharedSizeBytes = known.maxDynamicSharedSizeBytes;
    attr->maxThreadsPerBlock = known.maxThreadsPerBlock;
    attr->numRegs = known.numRegs;
    attr->preferredShmemCarveout = known.preferredShmemCarveout;
    attr->ptxVersion = known.ptxVersion;
    attr->sharedSizeBytes = known.sharedSizeBytes;
    return hipSuccess;
}

#endif /* HMM_CUDA_HIP_RUNTIME_API_H */
