// SPDX-License-Identifier: MIT
// The CUDA runtime interface: memory and events of other processes, which are not supported.
#include "error.hpp"

#include "cuda/cuda_runtime_api.h"

using namespace hmmcuda;

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
