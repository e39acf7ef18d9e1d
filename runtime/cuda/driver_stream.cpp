// SPDX-License-Identifier: MIT
// The CUDA driver interface: streams and events.
#include "callback.hpp"
#include "driver.hpp"

using namespace hmmcuda;

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void* userData,
                             unsigned int flags) {
    return driver_call([&] {
        return add_callback<CUstreamCallback, result_of>(hStream, callback, userData, flags);
    });
}

CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags) {
    if ((Flags & CU_EVENT_INTERPROCESS) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    return driver_call([&] { return hmmEventCreateWithFlags(to_hmm(phEvent), Flags); });
}
