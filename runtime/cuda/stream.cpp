// SPDX-License-Identifier: MIT
// The CUDA runtime interface: streams and host functions.
#include "callback.hpp"
#include "convert.hpp"
#include "error.hpp"

#include "cuda/cuda_runtime_api.h"

using namespace hmmcuda;

cudaError_t cudaStreamCreate(cudaStream_t* pStream) {
    return forward(give<hmmStream_t>(pStream, hmmStreamCreate));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
    return forward(give<hmmStream_t>(
        pStream, [&](hmmStream_t* made) { return hmmStreamCreateWithFlags(made, flags); }));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags, int priority) {
    return forward(give<hmmStream_t>(pStream, [&](hmmStream_t* made) {
        return hmmStreamCreateWithPriority(made, flags, priority);
    }));
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return forward(hmmStreamDestroy(stream_of(stream)));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return forward(hmmStreamSynchronize(stream_of(stream)));
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return forward(hmmStreamQuery(stream_of(stream)));
}

cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int* flags) {
    return forward(hmmStreamGetFlags(stream_of(hStream), flags));
}

cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int* priority) {
    return forward(hmmStreamGetPriority(stream_of(hStream), priority));
}

cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int* device) {
    return forward(hmmStreamGetDevice(stream_of(hStream), device));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    // only valid for capturing streams
    if (flags == cudaEventWaitExternal) return record(cudaErrorIllegalState);
    return forward(hmmStreamWaitEvent(stream_of(stream), event_of(event), flags));
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                  void* userData, unsigned int flags) {
    // libhmmrt doesn't know about failed allocations of this library
    return record(
        forward(add_callback<cudaStreamCallback_t, error_of>(stream, callback, userData, flags)));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
    return forward(hmmLaunchHostFunc(stream_of(stream), fn, userData));
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* devPtr, size_t length,
                                     unsigned int flags) {
    return forward(hmmStreamAttachMemAsync(stream_of(stream), devPtr, length, flags));
}
