// SPDX-License-Identifier: MIT
// A kernel that changes memory of malloc().
#include <cstdio>
#include <cstdlib>

__global__ void twice(int* value) {
    *value *= 2;
}

int main() {
    int* value = static_cast<int*>(std::malloc(sizeof(int)));
    *value = 21;
    twice<<<1, 1>>>(value);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    std::printf("%d on the device\n", *value);
    std::free(value);
}
