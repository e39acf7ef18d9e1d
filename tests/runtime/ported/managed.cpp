// SPDX-License-Identifier: MIT
// A typical CUDA program: kernels on managed memory. The build only replaces
// `cuda` with `hmm` in it.
#include "ported.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t status = (call);                                                               \
        if (status != cudaSuccess) {                                                               \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, cudaGetErrorName(status),       \
                    cudaGetErrorString(status));                                                   \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

namespace {

__global__ void add(int n, const float* x, float* y) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = blockDim.x * gridDim.x;
    for (int i = index; i < n; i += stride)
        y[i] = x[i] + y[i];
}

__global__ void transpose(const int* from, int* to, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) to[x * height + y] = from[y * width + x];
}

struct node {
    node* next;
    int value;
};

__global__ void sum_list(const node* head, long long* sum) {
    for (const node* at = head; at != NULL; at = at->next)
        *sum += at->value;
}

} // namespace

int vector_add(void) {
    int n = 1 << 18;
    float *x, *y;
    CHECK(cudaMallocManaged(&x, n * sizeof(float)));
    CHECK(cudaMallocManaged(&y, n * sizeof(float)));
    for (int i = 0; i < n; i++) {
        x[i] = 1.0f;
        y[i] = 2.0f;
    }
    int device = -1;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaMemAdvise(x, n * sizeof(float), cudaMemAdviseSetReadMostly, device));
    CHECK(cudaMemPrefetchAsync(x, n * sizeof(float), device, NULL));
    CHECK(cudaMemPrefetchAsync(y, n * sizeof(float), device));

    int blocks = (n + 255) / 256;
    void* arguments[] = {&n, &x, &y};
    CHECK(cudaLaunchKernel(add, blocks, 256, arguments));
    CHECK(cudaGetLastError());
    CHECK(cudaMemPrefetchAsync(y, n * sizeof(float), cudaCpuDeviceId));
    CHECK(cudaDeviceSynchronize());

    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += y[i] != 3.0f;
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return wrong;
}

int blocks_of_two_dimensions(void) {
    int width = 300, height = 170;
    int *from, *to;
    CHECK(cudaMallocManaged(&from, width * height * sizeof(int), cudaMemAttachGlobal));
    CHECK(cudaMalloc(&to, width * height * sizeof(int)));
    for (int i = 0; i < width * height; i++)
        from[i] = i;

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    dim3 block(16, 8);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    void* arguments[] = {&from, &to, &width, &height};
    CHECK(cudaLaunchKernel(transpose, grid, block, arguments, 0, stream));
    int* result;
    CHECK(cudaMallocHost(&result, width * height * sizeof(int)));
    CHECK(
        cudaMemcpyAsync(result, to, width * height * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));

    int wrong = 0;
    for (int x = 0; x < width; x++)
        for (int y = 0; y < height; y++)
            wrong += result[x * height + y] != y * width + x;
    CHECK(cudaFreeHost(result));
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));
    return wrong;
}

int pointers_of_the_heap(void) {
    node* head = NULL;
    for (int i = 1; i <= 100; i++) {
        node* fresh = (node*)malloc(sizeof(node));
        fresh->next = head;
        fresh->value = i;
        head = fresh;
    }
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    long long sum = 0, *result = &sum;
    if (prop.pageableMemoryAccess) {
        void* arguments[] = {&head, &result};
        CHECK(cudaLaunchKernel(sum_list, dim3(1), dim3(1), arguments));
        CHECK(cudaDeviceSynchronize());
    }
    while (head != NULL) {
        node* next = head->next;
        free(head);
        head = next;
    }
    return sum != 5050;
}

int where_memory_is(void) {
    char* memory;
    int device;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaMallocManaged(&memory, 1 << 20));
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, memory + 100));
    int wrong = attributes.type != cudaMemoryTypeManaged || attributes.device != device;
    CHECK(cudaMemAdvise(memory, 1 << 20, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId));
    int location = -7;
    CHECK(cudaMemRangeGetAttribute(&location, sizeof(location),
                                   cudaMemRangeAttributePreferredLocation, memory, 1 << 20));
    wrong += location != cudaCpuDeviceId;
    CHECK(cudaFree(memory));

    int number;
    CHECK(cudaPointerGetAttributes(&attributes, &number));
    return wrong + (attributes.type != cudaMemoryTypeUnregistered);
}

int occupancy_chooses_the_block(void) {
    int least = 0, size = 0, blocks = 0;
    CHECK(cudaOccupancyMaxPotentialBlockSize(&least, &size, add));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, size, 0));
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, add));
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    if (size < 1 || size > attributes.maxThreadsPerBlock || blocks < 1) return 1;
    if (blocks * size > prop.maxThreadsPerMultiProcessor || least < prop.multiProcessorCount)
        return 1;

    int n = 10000;
    float *x, *y;
    CHECK(cudaMallocManaged(&x, n * sizeof(float)));
    CHECK(cudaMallocManaged(&y, n * sizeof(float)));
    for (int i = 0; i < n; i++)
        x[i] = (float)i;
    void* arguments[] = {&n, &x, &y};
    CHECK(cudaLaunchKernel(add, (n + size - 1) / size, size, arguments));
    CHECK(cudaDeviceSynchronize());
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += y[i] != (float)i;
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return wrong;
}
