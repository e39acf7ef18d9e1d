/* SPDX-License-Identifier: MIT */
/*
 * A CUDA program in C without kernels: the runtime functions that it calls. The
 * build only replaces `cuda` with `hmm` in it.
 */
#include "ported.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t status = (call);                                                               \
        if (status != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static const char* what_to_do(cudaError_t status) {
    switch (status) {
    case cudaSuccess:
        return "go on";
    case cudaErrorMemoryAllocation:
        return "take less";
    case cudaErrorNotReady:
        return "wait";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorECCUncorrectable:
        return "end";
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedLimit:
    case cudaErrorLaunchOutOfResources:
    case cudaErrorSetOnActiveProcess:
    case cudaErrorInsufficientDriver:
        return "mend the program";
    default:
        return "say so";
    }
}

static void set_flag(void* data) {
    *(int*)data = 1;
}

int from_c(void) {
    int devices = 0, driver = 0, runtime = 0, value = 0, called = 0;
    unsigned int flags = 0;
    size_t available, total, stack = 0;
    struct cudaDeviceProp prop;
    void *memory = NULL, *host = NULL;
    cudaStream_t stream;

    CHECK(cudaGetDeviceCount(&devices));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    if (devices < 1 || driver < runtime) return 1;
    CHECK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    CHECK(cudaGetDeviceFlags(&flags));
    CHECK(cudaSetDevice(0));
    CHECK(cudaGetDeviceProperties(&prop, 0));
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxThreadsPerBlock, 0));
    if (!prop.managedMemory || value != prop.maxThreadsPerBlock) return 1;
    CHECK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, stack));
    CHECK(cudaMemGetInfo(&available, &total));
    if (strcmp(what_to_do(cudaErrorNotReady), "wait") != 0) return 1;

    CHECK(cudaMallocManaged(&memory, 4096, cudaMemAttachGlobal));
    CHECK(cudaHostAlloc(&host, 4096, cudaHostAllocDefault));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamAttachMemAsync(stream, memory, 0, cudaMemAttachSingle));
    CHECK(cudaMemsetAsync(memory, 42, 4096, stream));
    CHECK(cudaMemcpyAsync(host, memory, 4096, cudaMemcpyDefault, stream));
    CHECK(cudaMemcpyPeerAsync(host, 0, memory, 0, 100, stream));
    CHECK(cudaLaunchHostFunc(stream, set_flag, &called));
    CHECK(cudaStreamSynchronize(stream));
    value = ((char*)host)[4095] != 42 || !called;
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(memory));
    CHECK(cudaFreeHost(host));
    return value;
}
