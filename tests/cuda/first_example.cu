// SPDX-License-Identifier: MIT
// A kernel on memory of malloc(), without a copy and without a call for this memory.
#include <cstdio>
#include <cstdlib>

__global__ void myKernel(float* data) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = 2.0F * data[i] + 1.0F;
}

int main() {
    const int blocks = 64, threads = 256;
    const size_t size = sizeof(float) * blocks * threads;
    float* data = (float*)malloc(size);
    for (int i = 0; i < blocks * threads; i++)
        data[i] = static_cast<float>(i);
    myKernel<<<blocks, threads>>>(data);
    if (cudaDeviceSynchronize() != cudaSuccess) {
        printf("failed: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    for (int i = 0; i < blocks * threads; i++)
        if (data[i] != 2.0F * static_cast<float>(i) + 1.0F) {
            printf("data[%d] is %g\n", i, data[i]);
            return 1;
        }
    free(data);
    return 0;
}
