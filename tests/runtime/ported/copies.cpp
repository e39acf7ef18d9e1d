// SPDX-License-Identifier: MIT
// A CUDA program: copies of rows and boxes, pools, callbacks. The build only
// replaces `cuda` with `hmm` in it.
#include "ported.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t status = (call);                                                               \
        if (status != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

namespace {

__global__ void scale(float* data, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= factor;
}

void count(cudaStream_t, cudaError_t status, void* data) {
    if (status == cudaSuccess) ++*static_cast<int*>(data);
}

} // namespace

int rows(void) {
    const size_t width = 100, height = 37;
    unsigned char* image;
    size_t pitch;
    CHECK(cudaMallocPitch(&image, &pitch, width, height));
    std::vector<unsigned char> from(width * height), to(width * height);
    for (size_t i = 0; i < from.size(); i++)
        from[i] = (unsigned char)(i * 3);
    CHECK(cudaMemset2D(image, pitch, 0xee, width, height));
    CHECK(cudaMemcpy2D(image, pitch, from.data(), width, width, height, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2D(to.data(), width, image, pitch, width, height, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(image));
    return from != to;
}

int boxes(void) {
    cudaExtent extent = make_cudaExtent(40, 6, 5);
    cudaPitchedPtr box;
    CHECK(cudaMalloc3D(&box, extent));
    std::vector<char> from(40 * 6 * 5), to(40 * 6 * 5);
    for (size_t i = 0; i < from.size(); i++)
        from[i] = (char)i;
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(from.data(), 40, 40, 6);
    copy.dstPtr = box;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    copy = cudaMemcpy3DParms();
    copy.srcPtr = box;
    copy.dstPtr = make_cudaPitchedPtr(to.data(), 40, 40, 6);
    copy.extent = extent;
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3DAsync(&copy));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(box.ptr));
    return from != to;
}

int memory_in_the_order_of_a_stream(void) {
    int device = 0, n = 50000;
    CHECK(cudaGetDevice(&device));
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
    unsigned long long threshold = ~0ull;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));

    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    std::vector<float> from(n, 1.5f), to(n);
    for (int round = 0; round < 3; round++) {
        float* data;
        float factor = 2.0f;
        CHECK(cudaMallocAsync(&data, n * sizeof(float), stream));
        CHECK(
            cudaMemcpyAsync(data, from.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream));
        void* arguments[] = {&data, &factor, &n};
        CHECK(cudaLaunchKernel(scale, (n + 127) / 128, 128, arguments, 0, stream));
        CHECK(cudaMemcpyAsync(to.data(), data, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(data, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    unsigned long long used = 1, reserved = 0;
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    threshold = 0;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(cudaStreamDestroy(stream));
    int wrong = used != 0 || reserved < n * sizeof(float);
    for (float each : to)
        wrong += each != 3.0f;
    return wrong;
}

int callbacks(void) {
    int called = 0;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamAddCallback(stream, count, &called, 0));
    CHECK(cudaStreamSynchronize(stream));
    char* memory;
    CHECK(cudaMallocManaged(&memory, 100, cudaMemAttachHost));
    CHECK(cudaStreamAttachMemAsync(stream, memory));
    CHECK(cudaStreamSynchronize(stream));
    cudaEvent_t start, stop;
    float milliseconds = -1;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start));
    CHECK(cudaMemset(memory, 7, 100));
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaStreamDestroy(stream));
    int wrong = called != 1 || memory[99] != 7 || milliseconds < 0;
    CHECK(cudaFree(memory));
    return wrong;
}
