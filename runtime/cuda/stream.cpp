// SPDX-License-Identifier: MIT
// The CUDA runtime interface: streams and events.
#include "callback.hpp"
#include "convert.hpp"
#include "error.hpp"

#include "cuda/cuda_runtime_api.h"

using namespace hmmcuda;

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
    // only valid for capturing streams
    if (flags == cudaEventWaitExternal) return record(cudaErrorIllegalState);
    return forward(hmmStreamWaitEvent(to_hmm(stream), to_hmm(event), flags));
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                  void* userData, unsigned int flags) {
    // libhmmrt doesn't know about failed allocations of this library
    return record(
        forward(add_callback<cudaStreamCallback_t, error_of>(stream, callback, userData, flags)));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
    if ((flags & cudaEventInterprocess) != 0)
        return record((flags & cudaEventDisableTiming) != 0 ? cudaErrorNotSupported
                                                            : cudaErrorInvalidValue);
    return forward(hmmEventCreateWithFlags(to_hmm(event), flags));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
    // only valid for capturing streams
    if (flags == cudaEventRecordExternal) return record(cudaErrorIllegalState);
    if (flags != cudaEventRecordDefault) return record(cudaErrorInvalidValue);
    return cudaEventRecord(event, stream);
}
