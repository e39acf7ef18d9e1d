/* SPDX-License-Identifier: MIT */
/*
 * The functions of the runtime interface, for C and C++. They have CUDA's
 * signatures, and the semantics of the hmm function with the same name, which
 * include/hmm describes; docs/cuda-api.md has the differences.
 */
#ifndef HMM_CUDA_CUDA_RUNTIME_API_H
#define HMM_CUDA_CUDA_RUNTIME_API_H
/* Programs test for this macro before they use the header. */
#define __CUDA_RUNTIME_API_H__

#include "driver_types.h"
#include "host_defines.h"
#include "vector_types.h"

#include <stddef.h>

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#error "per-thread default streams are not supported: pass cudaStreamPerThread explicitly"
#endif

/* The version of the interface: CUDA 12.8. */
#define CUDART_VERSION 12080

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ----------------------------------------------------------- */

extern cudaError_t CUDARTAPI cudaGetLastError(void);
extern cudaError_t CUDARTAPI cudaPeekAtLastError(void);
extern const char* CUDARTAPI cudaGetErrorName(cudaError_t error);
extern const char* CUDARTAPI cudaGetErrorString(cudaError_t error);

/* ---- devices ---------------------------------------------------------- */

extern cudaError_t CUDARTAPI cudaGetDeviceCount(int* count);
extern cudaError_t CUDARTAPI cudaSetDevice(int device);
extern cudaError_t CUDARTAPI cudaGetDevice(int* device);
extern cudaError_t CUDARTAPI cudaDeviceSynchronize(void);
extern cudaError_t CUDARTAPI cudaDeviceReset(void);
extern cudaError_t CUDARTAPI cudaGetDeviceProperties(struct cudaDeviceProp* prop, int device);
extern cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr attr,
                                                    int device);
extern cudaError_t CUDARTAPI cudaSetDeviceFlags(unsigned int flags);
extern cudaError_t CUDARTAPI cudaGetDeviceFlags(unsigned int* flags);
extern cudaError_t CUDARTAPI cudaDeviceGetLimit(size_t* value, enum cudaLimit limit);
extern cudaError_t CUDARTAPI cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
extern cudaError_t CUDARTAPI cudaDeviceGetCacheConfig(enum cudaFuncCache* config);
extern cudaError_t CUDARTAPI cudaDeviceSetCacheConfig(enum cudaFuncCache config);
extern cudaError_t CUDARTAPI cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig* config);
extern cudaError_t CUDARTAPI cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
extern cudaError_t CUDARTAPI cudaDeviceGetStreamPriorityRange(int* leastPriority,
                                                              int* greatestPriority);
extern cudaError_t CUDARTAPI cudaDeviceCanAccessPeer(int* canAccessPeer, int device,
                                                     int peerDevice);
extern cudaError_t CUDARTAPI cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags);
extern cudaError_t CUDARTAPI cudaDeviceDisablePeerAccess(int peerDevice);
extern cudaError_t CUDARTAPI cudaDeviceGetP2PAttribute(int* value, enum cudaDeviceP2PAttr attr,
                                                       int srcDevice, int dstDevice);
extern cudaError_t CUDARTAPI cudaDriverGetVersion(int* driverVersion);
extern cudaError_t CUDARTAPI cudaRuntimeGetVersion(int* runtimeVersion);

/* ---- allocation ------------------------------------------------------- */

extern cudaError_t CUDARTAPI cudaMalloc(void** devPtr, size_t size);
extern cudaError_t CUDARTAPI cudaFree(void* devPtr);
extern cudaError_t CUDARTAPI cudaMallocManaged(
    void** devPtr, size_t size, unsigned int flags HMM_CUDA_DEFAULT(cudaMemAttachGlobal));
extern cudaError_t CUDARTAPI cudaMallocHost(void** ptr, size_t size);
extern cudaError_t CUDARTAPI cudaHostAlloc(void** pHost, size_t size, unsigned int flags);
extern cudaError_t CUDARTAPI cudaFreeHost(void* ptr);
extern cudaError_t CUDARTAPI cudaHostRegister(void* ptr, size_t size, unsigned int flags);
extern cudaError_t CUDARTAPI cudaHostUnregister(void* ptr);
extern cudaError_t CUDARTAPI cudaHostGetDevicePointer(void** pDevice, void* pHost,
                                                      unsigned int flags);
extern cudaError_t CUDARTAPI cudaHostGetFlags(unsigned int* pFlags, void* pHost);
extern cudaError_t CUDARTAPI cudaMallocPitch(void** devPtr, size_t* pitch, size_t width,
                                             size_t height);
extern cudaError_t CUDARTAPI cudaMalloc3D(struct cudaPitchedPtr* pitchedDevPtr,
                                          struct cudaExtent extent);
extern cudaError_t CUDARTAPI cudaMemGetInfo(size_t* free, size_t* total);

/* ---- copies and fills ------------------------------------------------- */

extern cudaError_t CUDARTAPI cudaMemcpy(void* dst, const void* src, size_t count,
                                        enum cudaMemcpyKind kind);
extern cudaError_t CUDARTAPI cudaMemcpyAsync(void* dst, const void* src, size_t count,
                                             enum cudaMemcpyKind kind,
                                             cudaStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern cudaError_t CUDARTAPI cudaMemcpyPeer(void* dst, int dstDevice, const void* src,
                                            int srcDevice, size_t count);
extern cudaError_t CUDARTAPI cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src,
                                                 int srcDevice, size_t count,
                                                 cudaStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern cudaError_t CUDARTAPI cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch,
                                          size_t width, size_t height, enum cudaMemcpyKind kind);
extern cudaError_t CUDARTAPI cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src,
                                               size_t spitch, size_t width, size_t height,
                                               enum cudaMemcpyKind kind,
                                               cudaStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern cudaError_t CUDARTAPI cudaMemcpy3D(const struct cudaMemcpy3DParms* p);
extern cudaError_t CUDARTAPI cudaMemcpy3DAsync(const struct cudaMemcpy3DParms* p,
                                               cudaStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern cudaError_t CUDARTAPI cudaMemset(void* devPtr, int value, size_t count);
extern cudaError_t CUDARTAPI cudaMemsetAsync(void* devPtr, int value, size_t count,
                                             cudaStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern cudaError_t CUDARTAPI cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width,
                                          size_t height);
extern cudaError_t CUDARTAPI cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width,
                                               size_t height,
                                               cudaStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern cudaError_t CUDARTAPI cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value,
                                          struct cudaExtent extent);
extern cudaError_t CUDARTAPI cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
                                               struct cudaExtent extent,
                                               cudaStream_t stream HMM_CUDA_DEFAULT(nullptr));

/* ---- where memory is -------------------------------------------------- */

/*
 * With a location in place of a device: those with _v2 in C, and in C++
 * overloads of cuda_runtime.h without it.
 */
extern cudaError_t CUDARTAPI cudaMemPrefetchAsync(const void* devPtr, size_t count, int dstDevice,
                                                  cudaStream_t stream HMM_CUDA_DEFAULT(nullptr));
/* As hmmMemPrefetchAsync(). */
extern cudaError_t CUDARTAPI cudaMemPrefetchAsync_v2(const void* devPtr, size_t count,
                                                     struct cudaMemLocation location,
                                                     unsigned int flags,
                                                     cudaStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern cudaError_t CUDARTAPI cudaMemAdvise(const void* devPtr, size_t count,
                                           enum cudaMemoryAdvise advice, int device);
extern cudaError_t CUDARTAPI cudaMemAdvise_v2(const void* devPtr, size_t count,
                                              enum cudaMemoryAdvise advice,
                                              struct cudaMemLocation location);
extern cudaError_t CUDARTAPI cudaMemPrefetchBatchAsync(
    void** dptrs, size_t* sizes, size_t count, struct cudaMemLocation* prefetchLocs,
    size_t* prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaMemDiscardBatchAsync(void** dptrs, size_t* sizes, size_t count,
                                                      unsigned long long flags,
                                                      cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaMemDiscardAndPrefetchBatchAsync(
    void** dptrs, size_t* sizes, size_t count, struct cudaMemLocation* prefetchLocs,
    size_t* prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaMemRangeGetAttribute(void* data, size_t dataSize,
                                                      enum cudaMemRangeAttribute attribute,
                                                      const void* devPtr, size_t count);
extern cudaError_t CUDARTAPI cudaMemRangeGetAttributes(void** data, size_t* dataSizes,
                                                       enum cudaMemRangeAttribute* attributes,
                                                       size_t numAttributes, const void* devPtr,
                                                       size_t count);
extern cudaError_t CUDARTAPI cudaPointerGetAttributes(struct cudaPointerAttributes* attributes,
                                                      const void* ptr);

/* ---- stream-ordered allocation ---------------------------------------- */

extern cudaError_t CUDARTAPI cudaMallocAsync(void** devPtr, size_t size, cudaStream_t hStream);
extern cudaError_t CUDARTAPI cudaFreeAsync(void* devPtr, cudaStream_t hStream);
extern cudaError_t CUDARTAPI cudaMallocFromPoolAsync(void** ptr, size_t size, cudaMemPool_t memPool,
                                                     cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaMemPoolCreate(cudaMemPool_t* memPool,
                                               const struct cudaMemPoolProps* poolProps);
extern cudaError_t CUDARTAPI cudaMemPoolDestroy(cudaMemPool_t memPool);
extern cudaError_t CUDARTAPI cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep);
extern cudaError_t CUDARTAPI cudaMemPoolGetAttribute(cudaMemPool_t memPool,
                                                     enum cudaMemPoolAttr attr, void* value);
extern cudaError_t CUDARTAPI cudaMemPoolSetAttribute(cudaMemPool_t memPool,
                                                     enum cudaMemPoolAttr attr, void* value);
extern cudaError_t CUDARTAPI cudaMemPoolSetAccess(cudaMemPool_t memPool,
                                                  const struct cudaMemAccessDesc* descList,
                                                  size_t count);
extern cudaError_t CUDARTAPI cudaMemPoolGetAccess(enum cudaMemAccessFlags* flags,
                                                  cudaMemPool_t memPool,
                                                  struct cudaMemLocation* location);
extern cudaError_t CUDARTAPI cudaDeviceGetDefaultMemPool(cudaMemPool_t* memPool, int device);
extern cudaError_t CUDARTAPI cudaDeviceGetMemPool(cudaMemPool_t* memPool, int device);
extern cudaError_t CUDARTAPI cudaDeviceSetMemPool(int device, cudaMemPool_t memPool);

/* ---- streams ---------------------------------------------------------- */

extern cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t* pStream);
extern cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags);
extern cudaError_t CUDARTAPI cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags,
                                                          int priority);
extern cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaStreamGetFlags(cudaStream_t hStream, unsigned int* flags);
extern cudaError_t CUDARTAPI cudaStreamGetPriority(cudaStream_t hStream, int* priority);
extern cudaError_t CUDARTAPI cudaStreamGetDevice(cudaStream_t hStream, int* device);
extern cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                                 unsigned int flags HMM_CUDA_DEFAULT(0));
extern cudaError_t CUDARTAPI cudaStreamAddCallback(cudaStream_t stream,
                                                   cudaStreamCallback_t callback, void* userData,
                                                   unsigned int flags);
extern cudaError_t CUDARTAPI cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn,
                                                void* userData);
extern cudaError_t CUDARTAPI
cudaStreamAttachMemAsync(cudaStream_t stream, void* devPtr, size_t length HMM_CUDA_DEFAULT(0),
                         unsigned int flags HMM_CUDA_DEFAULT(cudaMemAttachSingle));

/* ---- events ----------------------------------------------------------- */

extern cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t* event);
extern cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
extern cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event,
                                             cudaStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern cudaError_t CUDARTAPI cudaEventRecordWithFlags(cudaEvent_t event,
                                                      cudaStream_t stream HMM_CUDA_DEFAULT(nullptr),
                                                      unsigned int flags HMM_CUDA_DEFAULT(0));
extern cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t event);
extern cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event);
extern cudaError_t CUDARTAPI cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end);
extern cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event);

/* ---- variables of device code ----------------------------------------- */

/* @symbol: the address of the variable. C++ programs pass the variable. */
extern cudaError_t CUDARTAPI cudaMemcpyToSymbol(
    const void* symbol, const void* src, size_t count, size_t offset HMM_CUDA_DEFAULT(0),
    enum cudaMemcpyKind kind HMM_CUDA_DEFAULT(cudaMemcpyHostToDevice));
extern cudaError_t CUDARTAPI cudaMemcpyToSymbolAsync(const void* symbol, const void* src,
                                                     size_t count, size_t offset,
                                                     enum cudaMemcpyKind kind,
                                                     cudaStream_t stream HMM_CUDA_DEFAULT(nullptr));
extern cudaError_t CUDARTAPI
cudaMemcpyFromSymbol(void* dst, const void* symbol, size_t count, size_t offset HMM_CUDA_DEFAULT(0),
                     enum cudaMemcpyKind kind HMM_CUDA_DEFAULT(cudaMemcpyDeviceToHost));
extern cudaError_t CUDARTAPI
cudaMemcpyFromSymbolAsync(void* dst, const void* symbol, size_t count, size_t offset,
                          enum cudaMemcpyKind kind, cudaStream_t stream HMM_CUDA_DEFAULT(nullptr));
/*
 * For the overloads: the check that @offset and @count are in a variable of @size bytes.
 */
extern cudaError_t CUDARTAPI hmmCudaCheckSymbol(size_t size, size_t count, size_t offset);
extern cudaError_t CUDARTAPI cudaGetSymbolAddress(void** devPtr, const void* symbol);

/* ---- kernels ---------------------------------------------------------- */

extern cudaError_t CUDARTAPI cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim,
                                              void** args, size_t sharedMem, cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaLaunchCooperativeKernel(const void* func, dim3 gridDim,
                                                         dim3 blockDim, void** args,
                                                         size_t sharedMem, cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaFuncGetAttributes(struct cudaFuncAttributes* attr,
                                                   const void* func);
extern cudaError_t CUDARTAPI cudaFuncSetAttribute(const void* func, enum cudaFuncAttribute attr,
                                                  int value);
extern cudaError_t CUDARTAPI cudaFuncSetCacheConfig(const void* func, enum cudaFuncCache config);
extern cudaError_t CUDARTAPI cudaFuncSetSharedMemConfig(const void* func,
                                                        enum cudaSharedMemConfig config);
extern cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks,
                                                                           const void* func,
                                                                           int blockSize,
                                                                           size_t dynamicSMemSize);
extern cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* numBlocks, const void* func, int blockSize, size_t dynamicSMemSize, unsigned int flags);
extern cudaError_t CUDARTAPI cudaOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize,
                                                                       const void* func,
                                                                       int numBlocks,
                                                                       int blockSize);

/* ---- refused: cudaErrorNotSupported ----------------------------------- */

extern cudaError_t CUDARTAPI cudaDeviceGetPCIBusId(char* pciBusId, int len, int device);
extern cudaError_t CUDARTAPI cudaDeviceGetByPCIBusId(int* device, const char* pciBusId);
extern cudaError_t CUDARTAPI cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* devPtr);
extern cudaError_t CUDARTAPI cudaIpcOpenMemHandle(void** devPtr, cudaIpcMemHandle_t handle,
                                                  unsigned int flags);
extern cudaError_t CUDARTAPI cudaIpcCloseMemHandle(void* devPtr);
extern cudaError_t CUDARTAPI cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event);
extern cudaError_t CUDARTAPI cudaIpcOpenEventHandle(cudaEvent_t* event,
                                                    cudaIpcEventHandle_t handle);
extern cudaError_t CUDARTAPI
cudaMemPoolExportToShareableHandle(void* shareableHandle, cudaMemPool_t memPool,
                                   enum cudaMemAllocationHandleType handleType, unsigned int flags);
extern cudaError_t CUDARTAPI cudaMemPoolImportFromShareableHandle(
    cudaMemPool_t* memPool, void* shareableHandle, enum cudaMemAllocationHandleType handleType,
    unsigned int flags);
extern cudaError_t CUDARTAPI cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData* exportData,
                                                      void* ptr);
extern cudaError_t CUDARTAPI cudaMemPoolImportPointer(void** ptr, cudaMemPool_t memPool,
                                                      struct cudaMemPoolPtrExportData* exportData);

/* ---- graphs: refused, unless a comment says otherwise ------------------ */

extern cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t stream,
                                                    enum cudaStreamCaptureMode mode);
extern cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* pGraph);
/* These two are not refused: no stream is capturing. */
extern cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t stream,
                                                   enum cudaStreamCaptureStatus* pCaptureStatus);
extern cudaError_t CUDARTAPI
cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus* captureStatus_out,
                         unsigned long long* id_out HMM_CUDA_DEFAULT(nullptr),
                         cudaGraph_t* graph_out HMM_CUDA_DEFAULT(nullptr),
                         const cudaGraphNode_t** dependencies_out HMM_CUDA_DEFAULT(nullptr),
                         size_t* numDependencies_out HMM_CUDA_DEFAULT(nullptr));
/* Not refused: sets the thread's mode, which has no effect, and returns the one before. */
extern cudaError_t CUDARTAPI cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode* mode);
extern cudaError_t CUDARTAPI cudaGraphCreate(cudaGraph_t* pGraph, unsigned int flags);
extern cudaError_t CUDARTAPI cudaGraphClone(cudaGraph_t* pGraphClone, cudaGraph_t originalGraph);
extern cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph);
extern cudaError_t CUDARTAPI cudaGraphDestroyNode(cudaGraphNode_t node);
extern cudaError_t CUDARTAPI cudaGraphAddKernelNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                                    const cudaGraphNode_t* pDependencies,
                                                    size_t numDependencies,
                                                    const struct cudaKernelNodeParams* pNodeParams);
extern cudaError_t CUDARTAPI cudaGraphAddMemcpyNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                                    const cudaGraphNode_t* pDependencies,
                                                    size_t numDependencies,
                                                    const struct cudaMemcpy3DParms* pCopyParams);
extern cudaError_t CUDARTAPI cudaGraphAddMemcpyNode1D(
    cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
    size_t numDependencies, void* dst, const void* src, size_t count, enum cudaMemcpyKind kind);
extern cudaError_t CUDARTAPI cudaGraphAddMemsetNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                                    const cudaGraphNode_t* pDependencies,
                                                    size_t numDependencies,
                                                    const struct cudaMemsetParams* pMemsetParams);
extern cudaError_t CUDARTAPI cudaGraphAddHostNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                                  const cudaGraphNode_t* pDependencies,
                                                  size_t numDependencies,
                                                  const struct cudaHostNodeParams* pNodeParams);
extern cudaError_t CUDARTAPI cudaGraphAddChildGraphNode(cudaGraphNode_t* pGraphNode,
                                                        cudaGraph_t graph,
                                                        const cudaGraphNode_t* pDependencies,
                                                        size_t numDependencies,
                                                        cudaGraph_t childGraph);
extern cudaError_t CUDARTAPI cudaGraphAddEmptyNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph,
                                                   const cudaGraphNode_t* pDependencies,
                                                   size_t numDependencies);
extern cudaError_t CUDARTAPI cudaGraphAddDependencies(cudaGraph_t graph,
                                                      const cudaGraphNode_t* from,
                                                      const cudaGraphNode_t* to,
                                                      size_t numDependencies);
extern cudaError_t CUDARTAPI cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes,
                                               size_t* numNodes);
extern cudaError_t CUDARTAPI cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* pRootNodes,
                                                   size_t* pNumRootNodes);
extern cudaError_t CUDARTAPI cudaGraphNodeGetType(cudaGraphNode_t node,
                                                  enum cudaGraphNodeType* pType);
extern cudaError_t CUDARTAPI cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                                          struct cudaKernelNodeParams* pNodeParams);
extern cudaError_t CUDARTAPI
cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams* pNodeParams);
extern cudaError_t CUDARTAPI cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path,
                                                    unsigned int flags);
extern cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                                  unsigned long long flags HMM_CUDA_DEFAULT(0));
extern cudaError_t CUDARTAPI cudaGraphInstantiateWithFlags(
    cudaGraphExec_t* pGraphExec, cudaGraph_t graph, unsigned long long flags HMM_CUDA_DEFAULT(0));
extern cudaError_t CUDARTAPI cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                                 cudaGraphExecUpdateResultInfo* resultInfo);
extern cudaError_t CUDARTAPI
cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                 const struct cudaKernelNodeParams* pNodeParams);
extern cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t graphExec);

#ifdef __cplusplus
}
#endif

/* ---- deprecated names, and boxes -------------------------------------- */

static __inline__ __host__ cudaError_t cudaThreadSynchronize(void) {
    return cudaDeviceSynchronize();
}

static __inline__ __host__ cudaError_t cudaThreadExit(void) {
    return cudaDeviceReset();
}

static __inline__ __host__ struct cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) {
    struct cudaExtent made;
    made.width = w;
    made.height = h;
    made.depth = d;
    return made;
}

static __inline__ __host__ struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
    struct cudaPos made;
    made.x = x;
    made.y = y;
    made.z = z;
    return made;
}

static __inline__ __host__ struct cudaPitchedPtr make_cudaPitchedPtr(void* d, size_t p, size_t xsz,
                                                                     size_t ysz) {
    struct cudaPitchedPtr made;
    made.ptr = d;
    made.pitch = p;
    made.xsize = xsz;
    made.ysize = ysz;
    return made;
}

#endif /* HMM_CUDA_CUDA_RUNTIME_API_H */
