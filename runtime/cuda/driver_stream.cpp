// SPDX-License-Identifier: MIT
// The CUDA driver interface: streams and events.
#include "callback.hpp"
#include "driver.hpp"

using namespace hmmcuda;

/* ---- streams ---------------------------------------------------------- */

CUresult cuStreamCreate(CUstream* phStream, unsigned int Flags) {
    return driver_call([&] {
        return give<hmmStream_t>(
            phStream, [&](hmmStream_t* made) { return hmmStreamCreateWithFlags(made, Flags); });
    });
}

CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
    return driver_call([&] {
        return give<hmmStream_t>(phStream, [&](hmmStream_t* made) {
            return hmmStreamCreateWithPriority(made, flags, priority);
        });
    });
}

CUresult cuStreamDestroy(CUstream hStream) {
    return driver_call([&] { return hmmStreamDestroy(stream_of(hStream)); });
}

CUresult cuStreamSynchronize(CUstream hStream) {
    return driver_call([&] { return hmmStreamSynchronize(stream_of(hStream)); });
}

CUresult cuStreamQuery(CUstream hStream) {
    return driver_call([&] { return hmmStreamQuery(stream_of(hStream)); });
}

CUresult cuStreamGetFlags(CUstream hStream, unsigned int* flags) {
    return driver_call([&] { return hmmStreamGetFlags(stream_of(hStream), flags); });
}

CUresult cuStreamGetPriority(CUstream hStream, int* priority) {
    return driver_call([&] { return hmmStreamGetPriority(stream_of(hStream), priority); });
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
    return driver_call(
        [&] { return hmmStreamWaitEvent(stream_of(hStream), event_of(hEvent), Flags); });
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void* userData,
                             unsigned int flags) {
    return driver_call([&] {
        return add_callback<CUstreamCallback, result_of>(hStream, callback, userData, flags);
    });
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
    return driver_call([&] { return hmmLaunchHostFunc(stream_of(hStream), fn, userData); });
}

CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
                                unsigned int flags) {
    return driver_call([&] {
        return hmmStreamAttachMemAsync(stream_of(hStream), pointer_of(dptr), length, flags);
    });
}

/* ---- events ----------------------------------------------------------- */

CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags) {
    if ((Flags & CU_EVENT_INTERPROCESS) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    return driver_call([&] {
        return give<hmmEvent_t>(
            phEvent, [&](hmmEvent_t* made) { return hmmEventCreateWithFlags(made, Flags); });
    });
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
    return driver_call([&] { return hmmEventRecord(event_of(hEvent), stream_of(hStream)); });
}

CUresult cuEventQuery(CUevent hEvent) {
    return driver_call([&] { return hmmEventQuery(event_of(hEvent)); });
}

CUresult cuEventSynchronize(CUevent hEvent) {
    return driver_call([&] { return hmmEventSynchronize(event_of(hEvent)); });
}

CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
    return driver_call(
        [&] { return hmmEventElapsedTime(pMilliseconds, event_of(hStart), event_of(hEnd)); });
}

CUresult cuEventDestroy(CUevent hEvent) {
    return driver_call([&] { return hmmEventDestroy(event_of(hEvent)); });
}
