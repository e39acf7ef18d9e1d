// SPDX-License-Identifier: MIT
// The CUDA runtime interface: captures of streams. Graphs are not supported, so no stream ever
// captures.
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
    const hmmError_t code = hmmStreamGetFlags(to_hmm(stream), &flags);
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
