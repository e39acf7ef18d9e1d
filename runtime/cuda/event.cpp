// SPDX-License-Identifier: MIT
// The CUDA runtime interface: events.
#include "convert.hpp"
#include "error.hpp"

#include "cuda/cuda_runtime_api.h"

using namespace hmmcuda;

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return forward(give<hmmEvent_t>(event, [](hmmEvent_t* made) { return hmmEventCreate(made); }));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
    if ((flags & cudaEventInterprocess) != 0)
        return record((flags & cudaEventDisableTiming) != 0 ? cudaErrorNotSupported
                                                            : cudaErrorInvalidValue);
    return forward(give<hmmEvent_t>(
        event, [&](hmmEvent_t* made) { return hmmEventCreateWithFlags(made, flags); }));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return forward(hmmEventRecord(event_of(event), stream_of(stream)));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
    // only valid for capturing streams
    if (flags == cudaEventRecordExternal) return record(cudaErrorIllegalState);
    if (flags != cudaEventRecordDefault) return record(cudaErrorInvalidValue);
    return cudaEventRecord(event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    return forward(hmmEventQuery(event_of(event)));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return forward(hmmEventSynchronize(event_of(event)));
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
    return forward(hmmEventElapsedTime(ms, event_of(start), event_of(end)));
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return forward(hmmEventDestroy(event_of(event)));
}
