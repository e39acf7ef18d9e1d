// SPDX-License-Identifier: MIT
// The CUDA runtime interface: what is refused, with a clear error.
#include "convert.hpp"
#include "error.hpp"

#include "cuda/cuda_runtime_api.h"

using namespace hmmcuda;

/* ---- memory and events of other processes ----------------------------- */

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned int) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaIpcCloseMemHandle(void*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaMemPoolExportToShareableHandle(void*, cudaMemPool_t, cudaMemAllocationHandleType,
                                               unsigned int) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t*, void*, cudaMemAllocationHandleType,
                                                 unsigned int) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData*, void*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaMemPoolImportPointer(void**, cudaMemPool_t, cudaMemPoolPtrExportData*) {
    return record(cudaErrorNotSupported);
}

/* ---- graphs ----------------------------------------------------------- */

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* pCaptureStatus) {
    if (pCaptureStatus == nullptr) return record(cudaErrorInvalidValue);
    unsigned int flags = 0;
    const hmmError_t code = hmmStreamGetFlags(stream_of(stream), &flags);
    if (code == hmmSuccess) *pCaptureStatus = cudaStreamCaptureStatusNone;
    return forward(code);
}

cudaError_t cudaGraphCreate(cudaGraph_t*, unsigned int) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphDestroy(cudaGraph_t) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t*, cudaGraph_t, unsigned long long) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t*, size_t*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) {
    return record(cudaErrorNotSupported);
}
