// SPDX-License-Identifier: MIT
// Keywords and functions of the language in device code.
#include "check.h"

#include <cuda.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace {

__constant__ int factors[4] = {2, 3, 5, 7};
__managed__ int total = 5;
__device__ float offset = 0.5F;
__device__ int device_table[64];

__global__ void use_variables(float* out) {
    const int i = threadIdx.x;
    out[i] = factors[i % 4] * i + offset;
    device_table[i] = i * i;
    atomicAdd(&total, 1);
}

void test_variables() {
    float* out = managed<float>(64);
    const float other = 2.5F;
    const int new_factors[4] = {1, 10, 100, 1000};
    int table[64], wanted_table[64];
    std::vector<float> wanted(64);
    total += 10; // the host's, and the device's
    cudaMemcpyToSymbol(offset, &other, sizeof(other));
    cudaMemcpyToSymbol(factors, new_factors, sizeof(new_factors));
    use_variables<<<1, 64>>>(out);
    check(device_is_well(), "kernels_use_variables");
    for (int i = 0; i < 64; i++) {
        wanted[i] = new_factors[i % 4] * i + other;
        wanted_table[i] = i * i;
    }
    check(same(out, wanted.data(), 64), "constants_and_variables_are_copied_to");
    check(total == 5 + 10 + 64, "managed_variables_are_those_of_the_host");
    cudaMemcpyFromSymbol(table, device_table, sizeof(table));
    check(same(table, wanted_table, 64), "variables_are_copied_from");
}

int type_of(const void* address) {
    cudaPointerAttributes found;
    return cudaPointerGetAttributes(&found, address) == cudaSuccess ? found.type : -1;
}

void test_addresses_of_variables() {
    void *table = nullptr, *constants = nullptr;
    cudaGetSymbolAddress(&table, device_table);
    cudaGetSymbolAddress(&constants, factors);
    check(type_of(&total) == cudaMemoryTypeManaged && type_of(table) == cudaMemoryTypeDevice &&
              type_of(static_cast<int*>(table) + 63) == cudaMemoryTypeDevice &&
              type_of(constants) == cudaMemoryTypeDevice,
          "addresses_of_variables_say_what_they_are");
    check(type_of(&checks_done) == cudaMemoryTypeUnregistered, "and_those_of_the_host_are_none");
    CUdeviceptr start = 0;
    size_t bytes = 0;
    unsigned int managed = 0;
    check(cuMemGetAddressRange(&start, &bytes, reinterpret_cast<CUdeviceptr>(table) + 8) ==
                  CUDA_SUCCESS &&
              reinterpret_cast<void*>(start) == table && bytes == sizeof(device_table),
          "variables_have_a_range");
    check(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                reinterpret_cast<CUdeviceptr>(&total)) == CUDA_SUCCESS &&
              managed == 1,
          "the_driver_interface_knows_them_too");
}

struct empty {};
struct odd {
    char a;
    double b;
    short c;
};
struct __align__(32) wide {
    int values[8];
};

__global__ void many_arguments(double* out, char c, empty, float4 v, odd o, short s, wide w,
                               double (*weights)[2], int3 t) {
    if (threadIdx.x != 0) return;
    out[0] = c + v.x + 2 * v.w + o.a + o.b + o.c + s + w.values[7] + (*weights)[1] + t.z;
}

void test_arguments() {
    double *out = managed<double>(1), *weights = managed<double>(2);
    weights[1] = 0.25;
    const wide w = {{0, 0, 0, 0, 0, 0, 0, 1000}};
    many_arguments<<<1, 32>>>(out, 1, empty(), make_float4(10, 0, 0, 20), odd{3, 0.5, 4}, 5, w,
                              reinterpret_cast<double(*)[2]>(weights), make_int3(0, 0, 100));
    const double wanted = 1 + 10 + 40 + 3 + 0.5 + 4 + 5 + 1000 + 0.25 + 100;
    check(device_is_well() && same(out, &wanted, 1), "arguments_of_many_types");
}

template <class Function>
__global__ void for_each_thread(int* out, Function function) {
    out[threadIdx.x] = function(threadIdx.x);
}

void test_lambdas() {
    int* out = managed<int>(32);
    std::vector<int> wanted(32);
    const int add = 7;
    for (int i = 0; i < 32; i++)
        wanted[i] = i * i + add;
    for_each_thread<<<1, 32>>>(out, [=] __device__(int i) { return i * i + add; });
    check(device_is_well() && same(out, wanted.data(), 32), "lambdas_run_on_the_device");
}

__global__ void double_all(int* data) {
    data[threadIdx.x] *= 2;
}
__global__ void negate_all(int* data) {
    data[threadIdx.x] = -data[threadIdx.x];
}

__device__ unsigned int sum_of(dim3 size) {
    return size.x + 100 * size.y + 10000 * size.z;
}
__device__ unsigned int sum_of_vector(const uint3& size) {
    return sum_of(size);
}

__global__ void copy_positions(unsigned int* out) {
    const unsigned int thread = threadIdx.x + 4 * (threadIdx.y + 3 * threadIdx.z);
    dim3 position = threadIdx;
    const dim3 block = blockIdx, size = blockDim, grid(gridDim);
    const uint3 vector = blockDim;
    out[5 * thread] = sum_of(position);
    position = blockIdx;
    out[5 * thread + 1] = sum_of(position) - sum_of(block);
    out[5 * thread + 2] = sum_of(threadIdx) + sum_of(blockDim) + sum_of(dim3(size));
    out[5 * thread + 3] = sum_of_vector(threadIdx) + sum_of_vector(gridDim) + sum_of(vector);
    position = thread == 0 ? blockDim : grid;
    out[5 * thread + 4] = sum_of(position);
}

void test_positions() {
    unsigned int* out = managed<unsigned int>(120);
    std::vector<unsigned int> wanted(120);
    copy_positions<<<1, dim3(4, 3, 2)>>>(out);
    for (unsigned int thread = 0; thread < 24; thread++) {
        const unsigned int position = thread % 4 + 100 * (thread / 4 % 3) + 10000 * (thread / 12);
        wanted[5 * thread] = position;
        wanted[5 * thread + 2] = position + 2 * 20304;
        wanted[5 * thread + 3] = position + 10101 + 20304;
        wanted[5 * thread + 4] = thread == 0 ? 20304 : 10101;
    }
    check(device_is_well() && same(out, wanted.data(), 120), "positions_become_vectors");
}

void test_pointers() {
    int* data = managed<int>(8);
    const int wanted[8] = {0, -2, -4, -6, -8, -10, -12, -14};
    std::iota(data, data + 8, 0);
    for (void (*const kernel)(int*) : {double_all, negate_all})
        kernel<<<1, 8>>>(data);
    check(device_is_well() && same(data, wanted, 8), "kernels_are_called_through_pointers");
    void* arguments[] = {&data};
    cudaLaunchKernel(reinterpret_cast<const void*>(negate_all), dim3(1), dim3(8), arguments, 0,
                     nullptr);
    check(device_is_well() && data[7] == 14, "cudaLaunchKernel_launches");
}

struct shape {
    __device__ virtual int area() const = 0;
    __device__ virtual ~shape() {}
};
struct square : shape {
    int side;
    __device__ explicit square(int s) : side(s) {}
    __device__ int area() const override { return side * side; }
};
struct strip : shape {
    int length;
    __device__ explicit strip(int l) : length(l) {}
    __device__ int area() const override { return length; }
};

__device__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__device__ __noinline__ int apart(int n) {
    return n + 1000;
}

__global__ void use_language(int* out) {
    const int i = threadIdx.x;
    shape* const mine = i % 2 == 0 ? static_cast<shape*>(new square(i)) : new strip(i);
    int* const memory = static_cast<int*>(malloc(3 * sizeof(int)));
    memory[2] = mine->area() + fibonacci(i % 10) + apart(i);
    out[i] = memory[2];
    delete mine;
    free(memory);
    assert(out[i] >= 1000);
}

int host_fibonacci(int n) {
    return n < 2 ? n : host_fibonacci(n - 1) + host_fibonacci(n - 2);
}

void test_language() {
    int* out = managed<int>(40);
    std::vector<int> wanted(40);
    for (int i = 0; i < 40; i++)
        wanted[i] = (i % 2 == 0 ? i * i : i) + host_fibonacci(i % 10) + i + 1000;
    use_language<<<1, 40>>>(out);
    check(device_is_well() && same(out, wanted.data(), 40),
          "virtual_functions_recursion_new_and_malloc");
}

__host__ __device__ int which_half() {
#ifdef __CUDA_ARCH__
    return 1;
#else
    return 2;
#endif
}

__global__ void follow_pointers(std::vector<int>* numbers, std::string* text, int* out) {
    for (int& number : *numbers)
        number += which_half();
    std::sort(numbers->begin(), numbers->end());
    out[0] = static_cast<int>(text->find("device")) + which_half() * 100;
}

void test_containers() {
    std::vector<int> numbers = {5, 3, 9, 1};
    std::string text = "on the device, in the memory of the host";
    int out = 0; // on the stack
    follow_pointers<<<1, 1>>>(&numbers, &text, &out);
    check(device_is_well() && numbers == std::vector<int>({2, 4, 6, 10}) && out == 107 &&
              which_half() == 2,
          "device_code_uses_containers_of_the_host");
}

__global__ void calculate(float* out) {
    const float x = 0.1F * (threadIdx.x + 1);
    out[threadIdx.x] = sqrtf(x) + __expf(-x) + rsqrtf(x) + fminf(x, 0.5F) + powf(x, 1.5F) +
                       max(1, 2) + __popc(threadIdx.x) + __clz(threadIdx.x + 1) +
                       __float2int_rn(x) + fmaf(x, 2.0F, 1.0F);
}

void test_math() {
    float* out = managed<float>(64);
    bool good = true;
    calculate<<<1, 64>>>(out);
    good = device_is_well();
    for (int i = 0; i < 64; i++) {
        const double x = 0.1F * (i + 1);
        const double wanted = sqrt(x) + exp(-x) + 1 / sqrt(x) + fmin(x, 0.5) + pow(x, 1.5) + 2 +
                              __builtin_popcount(i) + __builtin_clz(i + 1) + rint(x) + 2 * x + 1;
        good = good && fabs(out[i] - wanted) < 1e-4 * fabs(wanted);
    }
    check(good, "functions_of_the_math_library");
}

__global__ void count_with_atomics(int* numbers, float* sum, double* wide_sum,
                                   unsigned long long* largest) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&numbers[0], i);
    atomicMax(&numbers[1], i);
    atomicMin(&numbers[2], -i);
    atomicOr(&numbers[3], 1 << i % 20);
    atomicAdd(sum, 0.5F);
    atomicAdd_system(wide_sum, 0.25);
    atomicMax(largest, i * 10ULL);
    for (int seen = numbers[4], old;; seen = old) {
        old = atomicCAS(&numbers[4], seen, seen + 2);
        if (old == seen) break;
    }
}

void test_atomics() {
    constexpr int threads = 64, blocks = 32, all = threads * blocks;
    int* numbers = managed<int>(5);
    float* sum = managed<float>(1);
    double* wide_sum = managed<double>(1);
    auto* largest = managed<unsigned long long>(1);
    const int wanted[5] = {all * (all - 1) / 2, all - 1, 1 - all, 0xfffff, 2 * all};
    count_with_atomics<<<blocks, threads>>>(numbers, sum, wide_sum, largest);
    check(device_is_well() && same(numbers, wanted, 5) && *sum == all * 0.5F &&
              *wide_sum == all * 0.25 && *largest == (all - 1) * 10ULL,
          "atomics_of_several_blocks");
}

} // namespace

int main() {
    test_variables();
    test_addresses_of_variables();
    test_arguments();
    test_lambdas();
    test_positions();
    test_pointers();
    test_language();
    test_containers();
    test_math();
    test_atomics();
    return end_checks();
}
