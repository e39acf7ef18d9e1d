// SPDX-License-Identifier: MIT
// Memory accesses that must keep their meaning when threads run as a vectorized loop.
#include "check.h"

#include <stdexcept>

namespace {

__global__ void declared_before(int* data);
__global__ void declared_before(int* data) {
    data[threadIdx.x] = 3 * threadIdx.x;
}

void test_declared_before() {
    int* data = managed<int>(8);
    const int wanted[8] = {0, 3, 6, 9, 12, 15, 18, 21};
    declared_before<<<1, 8>>>(data);
    check(device_is_well() && same(data, wanted, 8), "a_kernel_can_have_a_declaration");
}

/// Only the first thread reads another one's element, and before it is written.
__global__ void read_in_branch(int* result) {
    __shared__ int elements[256];
    elements[threadIdx.x] = threadIdx.x + 5;
    __syncthreads();
    int value = 0;
    if (threadIdx.x == 0) value = elements[0];
    elements[threadIdx.x] = 7;
    __syncthreads();
    if (threadIdx.x == 0) *result = value;
}

void test_read_in_branch() {
    int* result = managed<int>(1);
    const int wanted = 5;
    read_in_branch<<<1, 256>>>(result);
    check(device_is_well() && same(result, &wanted, 1), "a_read_stays_in_its_branch");
}

/// If @in and @out are equal, a thread's second read sees its own write.
__global__ void read_after_write(int* in, int* out, int* result) {
    const int i = threadIdx.x;
    const int first = in[2 * i];
    out[2 * i + 1] = first + 1;
    result[i] = in[2 * i + 1];
}

void test_read_after_write() {
    constexpr int threads = 256;
    int *data = managed<int>(2 * threads), *result = managed<int>(threads);
    int* wanted = managed<int>(threads);
    for (int i = 0; i < threads; i++) {
        data[2 * i] = 100 * i;
        wanted[i] = 100 * i + 1;
    }
    read_after_write<<<1, threads>>>(data, data, result);
    check(device_is_well() && same(result, wanted, threads),
          "a_thread_reads_what_it_wrote_through_another_pointer");
}

/// Several cases branch to the same block.
__global__ void choose(int* out, int which) {
    const int own = threadIdx.x * 3 + 1;
    out[threadIdx.x] = own;
    __syncthreads();
    int chosen = 0;
    switch (which) {
    case 1:
    case 5:
    case 9:
        chosen = own;
        break;
    case 2:
        chosen = out[threadIdx.x ^ 1];
        break;
    default:
        chosen = out[(threadIdx.x + 2) % 32];
        atomicAdd(&out[40], 1);
    }
    __syncthreads();
    out[threadIdx.x] = chosen;
}

void test_choose() {
    int *data = managed<int>(64), wanted[32];
    for (int i = 0; i < 32; i++)
        wanted[i] = i * 3 + 1;
    choose<<<1, 32>>>(data, 5);
    check(device_is_well() && same(data, wanted, 32), "cases_meet_behind_a_barrier");
}

__global__ void keep_aligned(float* out, int n) {
    __align__(32) float kept[9];
    for (int i = 0; i < 9; i++)
        kept[i] = threadIdx.x + i * n;
    __syncthreads();
    const float4 part = *reinterpret_cast<float4*>(&kept[4]);
    float* volatile place = kept;
    const unsigned long long misaligned = reinterpret_cast<unsigned long long>(place) % 32;
    out[threadIdx.x] = part.x + part.w + kept[n] + misaligned * 1000;
}

void test_aligned() {
    float *out = managed<float>(16), wanted[16];
    for (int i = 0; i < 16; i++)
        wanted[i] = 3 * i + 4 + 7 + 1;
    keep_aligned<<<1, 16>>>(out, 1);
    check(device_is_well() && same(out, wanted, 16), "what_a_thread_keeps_is_aligned");
}

__global__ void add(int* sum, int value) {
    *sum += value;
}

int fail() {
    throw std::runtime_error("no argument");
}

void test_failing_arguments() {
    int* sum = managed<int>(1);
    const int wanted = 2;
    for (int i = 0; i < 100; i++) {
        try {
            add<<<1, 1>>>(sum, fail());
        } catch (const std::runtime_error&) {
            continue; // nothing was launched
        }
    }
    add<<<1, 1>>>(sum, 2);
    check(device_is_well() && same(sum, &wanted, 1), "arguments_that_throw_launch_nothing");
}

} // namespace

int main() {
    test_declared_before();
    test_read_in_branch();
    test_read_after_write();
    test_choose();
    test_aligned();
    test_failing_arguments();
    return end_checks();
}
