/* SPDX-License-Identifier: MIT */
/*
 * HIP's runtime interface, for C and C++: each function is the one of
 * cuda_runtime_api.h with cuda in place of hip, and returns HIP's error.
 * Functions that do more are inline, so that HIP's structs are not part of the
 * library's ABI.
 */
#ifndef HMM_CUDA_HIP_RUNTIME_API_H
#define HMM_CUDA_HIP_RUNTIME_API_H

#include "../cuda_runtime_api.h"
#include "hip_types.h"

#include <stdlib.h>
#include <string.h>

/* Flags of HIP alone are above these. */
#define HMM_HIP_KNOWN_FLAGS 0xffffU

#ifdef __cplusplus
extern "C" {
#endif

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

extern hipError_t CUDARTAPI hipGetLastError(void);
extern hipError_t CUDARTAPI hipPeekAtLastError(void);

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

extern hipError_t CUDARTAPI hipGetDeviceCount(int* count);
extern hipError_t CUDARTAPI hipSetDevice(int device);
extern hipError_t CUDARTAPI hipGetDevice(int* device);
extern hipError_t CUDARTAPI hipDeviceSynchronize(void);
extern hipError_t CUDARTAPI hipDeviceReset(void);
extern hipError_t CUDARTAPI hipSetDeviceFlags(unsigned int flags);
extern hipError_t CUDARTAPI hipGetDeviceFlags(unsigned int* flags);
extern hipError_t CUDARTAPI hipDeviceGetLimit(size_t* value, enum hipLimit_t limit);
extern hipError_t CUDARTAPI hipDeviceSetLimit(enum hipLimit_t limit, size_t value);
extern hipError_t CUDARTAPI hipDeviceSetCacheConfig(hipFuncCache_t config);
extern hipError_t CUDARTAPI hipDeviceGetStreamPriorityRange(int* leastPriority,
                                                            int* greatestPriority);
extern hipError_t CUDARTAPI hipDeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice);
extern hipError_t CUDARTAPI hipDeviceEnablePeerAccess(int peerDevice, unsigned int flags);
extern hipError_t CUDARTAPI hipDeviceDisablePeerAccess(int peerDevice);
extern hipError_t CUDARTAPI hipDeviceGetPCIBusId(char* pciBusId, int len, int device);
extern hipError_t CUDARTAPI hipDeviceGetByPCIBusId(int* device, const char* pciBusId);
extern hipError_t CUDARTAPI hipDriverGetVersion(int* driverVersion);

static __inline__ __host__ hipError_t hipInit(unsigned int flags) {
    int count;
    return flags == 0 ? hipGetDeviceCount(&count) : hipErrorInvalidValue;
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

extern hipError_t CUDARTAPI hipMalloc(void** ptr, size_t size);
extern hipError_t CUDARTAPI hipFree(void* ptr);
extern hipError_t CUDARTAPI
hipMallocManaged(void** ptr, size_t size, unsigned int flags HMM_CUDA_DEFAULT(hipMemAttachGlobal));

static __inline__ __host__ hipError_t
hipHostMalloc(void** ptr, size_t size, unsigned int flags HMM_CUDA_DEFAULT(hipHostMallocDefault)) {
    return hmmHipError(cudaHostAlloc(ptr, size, flags & HMM_HIP_KNOWN_FLAGS));
}

static __inline__ __host__ hipError_t hipHostAlloc(void** ptr, size_t size, unsigned int flags) {
    return hmmHipError(cudaHostAlloc(ptr, size, flags & HMM_HIP_KNOWN_FLAGS));
}

extern hipError_t CUDARTAPI hipMallocHost(void** ptr, size_t size);
/* As cudaFreeHost(). */
extern hipError_t CUDARTAPI hipHostFree(void* ptr);
extern hipError_t CUDARTAPI hipFreeHost(void* ptr);
extern hipError_t CUDARTAPI hipHostRegister(void* ptr, size_t size, unsigned int flags);
extern hipError_t CUDARTAPI hipHostUnregister(void* ptr);
extern hipError_t CUDARTAPI hipHostGetDevicePointer(void** devPtr, void* hostPtr,
                                                    unsigned int flags);
extern hipError_t CUDARTAPI hipHostGetFlags(unsigned int* flags, void* hostPtr);
extern hipError_t CUDARTAPI hipMallocPitch(void** ptr, size_t* pitch, size_t width, size_t height);
extern hipError_t CUDARTAPI hipMallocAsync(void** ptr, size_t size, hipStream_t stream);
extern hipError_t CUDARTAPI hipFreeAsync(void* ptr, hipStream_t stream);
extern hipError_t CUDARTAPI hipMemGetInfo(size_t* free, size_t* total);

/* ---- copies and fills --------------------------------------------------- */

extern hipError_t CUDARTAPI hipMemcpy(void* dst, const void* src, size_t size, hipMemcpyKind kind);
extern hipError_t CUDARTAPI hipMemcpyAsync(void* dst, const void* src, size_t size,
                                           hipMemcpyKind kind,
                                           hipStream_t stream HMM_CUDA_DEFAULT(nullptr));

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

extern hipError_t CUDARTAPI hipMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice,
                                          size_t size);
extern hipError_t CUDARTAPI hipMemcpyPeerAsync(void* dst, int dstDevice, const void* src,
                                               int srcDevice, size_t size,
                                               hipStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern hipError_t CUDARTAPI hipMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch,
                                        size_t width, size_t height, hipMemcpyKind kind);
extern hipError_t CUDARTAPI hipMemcpy2DAsync(void* dst, size_t dpitch, const void* src,
                                             size_t spitch, size_t width, size_t height,
                                             hipMemcpyKind kind,
                                             hipStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern hipError_t CUDARTAPI hipMemset(void* dst, int value, size_t size);
extern hipError_t CUDARTAPI hipMemsetAsync(void* dst, int value, size_t size,
                                           hipStream_t stream HMM_CUDA_DEFAULT(nullptr));
/* As cudaMemset(). */
extern hipError_t CUDARTAPI hipMemsetD8(hipDeviceptr_t dst, unsigned char value, size_t count);
extern hipError_t CUDARTAPI hipMemset2D(void* dst, size_t pitch, int value, size_t width,
                                        size_t height);
extern hipError_t CUDARTAPI hipMemset2DAsync(void* dst, size_t pitch, int value, size_t width,
                                             size_t height,
                                             hipStream_t stream HMM_CUDA_DEFAULT(nullptr));

/* ---- where memory is ---------------------------------------------------- */

extern hipError_t CUDARTAPI hipMemPrefetchAsync(const void* ptr, size_t count, int device,
                                                hipStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern hipError_t CUDARTAPI hipMemRangeGetAttribute(void* data, size_t dataSize,
                                                    hipMemRangeAttribute attribute, const void* ptr,
                                                    size_t count);

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

extern hipError_t CUDARTAPI hipStreamCreate(hipStream_t* stream);
extern hipError_t CUDARTAPI hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags);
extern hipError_t CUDARTAPI hipStreamCreateWithPriority(hipStream_t* stream, unsigned int flags,
                                                        int priority);
extern hipError_t CUDARTAPI hipStreamDestroy(hipStream_t stream);
extern hipError_t CUDARTAPI hipStreamSynchronize(hipStream_t stream);
extern hipError_t CUDARTAPI hipStreamQuery(hipStream_t stream);
extern hipError_t CUDARTAPI hipStreamWaitEvent(hipStream_t stream, hipEvent_t event,
                                               unsigned int flags HMM_CUDA_DEFAULT(0));
extern hipError_t CUDARTAPI hipStreamGetFlags(hipStream_t stream, unsigned int* flags);
extern hipError_t CUDARTAPI hipStreamGetPriority(hipStream_t stream, int* priority);
extern hipError_t CUDARTAPI hipStreamGetDevice(hipStream_t stream, hipDevice_t* device);
extern hipError_t CUDARTAPI hipLaunchHostFunc(hipStream_t stream, hipHostFn_t fn, void* userData);
extern hipError_t CUDARTAPI
hipStreamAttachMemAsync(hipStream_t stream, void* ptr, size_t length HMM_CUDA_DEFAULT(0),
                        unsigned int flags HMM_CUDA_DEFAULT(hipMemAttachSingle));

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

extern hipError_t CUDARTAPI hipEventCreate(hipEvent_t* event);

static __inline__ __host__ hipError_t hipEventCreateWithFlags(hipEvent_t* event,
                                                              unsigned int flags) {
    return hmmHipError(cudaEventCreateWithFlags(event, flags & HMM_HIP_KNOWN_FLAGS));
}

extern hipError_t CUDARTAPI hipEventRecord(hipEvent_t event,
                                           hipStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern hipError_t CUDARTAPI hipEventQuery(hipEvent_t event);
extern hipError_t CUDARTAPI hipEventSynchronize(hipEvent_t event);
extern hipError_t CUDARTAPI hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop);
extern hipError_t CUDARTAPI hipEventDestroy(hipEvent_t event);

/* ---- variables of device code, and kernels ------------------------------ */

extern hipError_t CUDARTAPI hipMemcpyToSymbol(
    const void* symbol, const void* src, size_t size, size_t offset HMM_CUDA_DEFAULT(0),
    hipMemcpyKind kind HMM_CUDA_DEFAULT(hipMemcpyHostToDevice));
extern hipError_t CUDARTAPI
hipMemcpyFromSymbol(void* dst, const void* symbol, size_t size, size_t offset HMM_CUDA_DEFAULT(0),
                    hipMemcpyKind kind HMM_CUDA_DEFAULT(hipMemcpyDeviceToHost));
extern hipError_t CUDARTAPI hipMemcpyToSymbolAsync(const void* symbol, const void* src, size_t size,
                                                   size_t offset, hipMemcpyKind kind,
                                                   hipStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern hipError_t CUDARTAPI hipMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t size,
                                                     size_t offset, hipMemcpyKind kind,
                                                     hipStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern hipError_t CUDARTAPI hipGetSymbolAddress(void** devPtr, const void* symbol);
extern hipError_t CUDARTAPI hipLaunchKernel(const void* function, dim3 numBlocks, dim3 dimBlocks,
                                            void** args, size_t sharedMemBytes HMM_CUDA_DEFAULT(0),
                                            hipStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern hipError_t CUDARTAPI hipLaunchCooperativeKernel(const void* function, dim3 numBlocks,
                                                       dim3 dimBlocks, void** args,
                                                       unsigned int sharedMemBytes,
                                                       hipStream_t stream);
extern hipError_t CUDARTAPI hipFuncSetAttribute(const void* function, hipFuncAttribute attribute,
                                                int value);
extern hipError_t CUDARTAPI hipFuncSetCacheConfig(const void* function, hipFuncCache_t config);
extern hipError_t CUDARTAPI hipOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks,
                                                                         const void* function,
                                                                         int blockSize,
                                                                         size_t dynSharedMemPerBlk);
extern hipError_t CUDARTAPI hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* numBlocks, const void* function, int blockSize, size_t dynSharedMemPerBlk,
    unsigned int flags);

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

#ifdef __cplusplus
}
#endif

#endif /* HMM_CUDA_HIP_RUNTIME_API_H */
