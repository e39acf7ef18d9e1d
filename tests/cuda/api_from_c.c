/* SPDX-License-Identifier: MIT */
/* A program in C that uses CUDA's runtime interface. */
#include "api_from_c.h"

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <string.h>

#define CHECK(call)                                                                                \
    if ((call) != cudaSuccess) return __LINE__

static void set_flag(void* flag) {
    *(int*)flag = 1;
}

int failed_line_of_c(void) {
    struct cudaDeviceProp prop;
    struct cudaMemLocation host = {cudaMemLocationTypeHost, 0};
    struct cudaPointerAttributes attributes;
    cudaStream_t stream;
    cudaEvent_t event;
    int called = 0;
    void* memory;
    char copied[64];
    float4 vector = make_float4(1, 2, 3, 4);

    CHECK(cudaGetDeviceProperties(&prop, 0));
    CHECK(cudaMallocManaged(&memory, sizeof(copied), cudaMemAttachGlobal));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaMemsetAsync(memory, 3, sizeof(copied), stream));
    CHECK(cudaMemcpyAsync(copied, memory, sizeof(copied), cudaMemcpyDefault, stream));
    CHECK(cudaMemPrefetchAsync(memory, sizeof(copied), 0, stream));
    CHECK(cudaMemPrefetchAsync_v2(memory, sizeof(copied), host, 0, stream));
    CHECK(cudaMemAdvise(memory, sizeof(copied), cudaMemAdviseSetReadMostly, 0));
    CHECK(cudaMemAdvise_v2(memory, sizeof(copied), cudaMemAdviseSetPreferredLocation, host));
    CHECK(cudaLaunchHostFunc(stream, set_flag, &called));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaEventSynchronize(event));
    CHECK(cudaPointerGetAttributes(&attributes, memory));
    CHECK(cudaProfilerStart());
    if (attributes.type != cudaMemoryTypeManaged || attributes.device != 0) return __LINE__;
    if (prop.warpSize != 32 || copied[63] != 3 || !called || vector.w != 4) return __LINE__;
    if (cudaMalloc(NULL, 8) != cudaErrorInvalidValue) return __LINE__;
    if (strcmp(cudaGetErrorName(cudaGetLastError()), "cudaErrorInvalidValue") != 0) return __LINE__;
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(memory));
    return 0;
}
