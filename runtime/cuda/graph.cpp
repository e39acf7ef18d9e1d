// SPDX-License-Identifier: MIT
// The CUDA runtime interface: graphs, which are not supported. No stream ever captures.
#include "convert.hpp"
#include "error.hpp"

#include "cuda/cuda_runtime_api.h"

#include <utility>

namespace hmmcuda {
namespace {

constinit thread_local cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* pCaptureStatus) {
    if (pCaptureStatus == nullptr) return record(cudaErrorInvalidValue);
    unsigned int flags = 0;
    const hmmError_t code = hmmStreamGetFlags(stream_of(stream), &flags);
    if (code == hmmSuccess) *pCaptureStatus = cudaStreamCaptureStatusNone;
    return forward(code);
}

// The other outputs only exist for a capture.
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                     cudaStreamCaptureStatus* captureStatus_out,
                                     unsigned long long*, cudaGraph_t*, const cudaGraphNode_t**,
                                     size_t*) {
    return cudaStreamIsCapturing(stream, captureStatus_out);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
    if (mode == nullptr || static_cast<unsigned int>(*mode) > cudaStreamCaptureModeRelaxed)
        return record(cudaErrorInvalidValue);
    std::swap(*mode, capture_mode);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphCreate(cudaGraph_t*, unsigned int) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphClone(cudaGraph_t*, cudaGraph_t) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphDestroy(cudaGraph_t) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                   const cudaKernelNodeParams*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                   const cudaMemcpy3DParms*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                     void*, const void*, size_t, cudaMemcpyKind) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                   const cudaMemsetParams*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t,
                                 const cudaHostNodeParams*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*,
                                       size_t, cudaGraph_t) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t*, const cudaGraphNode_t*,
                                     size_t) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t, cudaGraphNode_t*, size_t*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t, cudaGraphNode_t*, size_t*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t, cudaGraphNodeType*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t, cudaKernelNodeParams*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t, const cudaKernelNodeParams*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t, const char*, unsigned int) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t*, cudaGraph_t, unsigned long long) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t, cudaGraph_t, cudaGraphExecUpdateResultInfo*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t, cudaGraphNode_t,
                                             const cudaKernelNodeParams*) {
    return record(cudaErrorNotSupported);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) {
    return record(cudaErrorNotSupported);
}
