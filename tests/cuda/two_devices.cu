// SPDX-License-Identifier: MIT
// Kernels, memory, variables, streams and errors of two devices.
#include "check.h"

#include <thread>
#include <unistd.h>

namespace {

__device__ int counter = 5;
__constant__ int factor = 2;
__managed__ int shared_by_all[2] = {10, 20};

__global__ void add(int* data, int value) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] += value * factor;
}

__global__ void count(int* out) {
    out[0] = atomicAdd(&counter, 1);
    out[1] = shared_by_all[0]++;
}

__global__ void fail(int* out) {
    if (threadIdx.x == 5) *reinterpret_cast<int*>(0x10000) = out[0];
}

__global__ void wait_for(volatile int* flag, int* out) {
    while (flag[0] == 0) {
    }
    out[0]++;
}

constexpr int blocks = 16, threads = 64, numbers = blocks * threads;

/// Waits for both devices, and makes device 0 current.
bool both_are_well() {
    bool well = true;
    for (const int device : {1, 0})
        well = cudaSetDevice(device) == cudaSuccess && device_is_well() && well;
    return well;
}

bool all_are(const int* data, int wanted) {
    for (int i = 0; i < numbers; i++)
        if (data[i] != wanted) {
            printf("# element %d is %d instead of %d\n", i, data[i], wanted);
            return false;
        }
    return true;
}

void test_memory() {
    int* const data = managed<int>(numbers);
    for (int round = 0; round < 4; round++) {
        const int device = round % 2;
        cudaSetDevice(device);
        cudaMemPrefetchAsync(data, numbers * sizeof(int), device, nullptr);
        add<<<blocks, threads>>>(data, round + 1);
        if (!device_is_well()) break;
    }
    check(all_are(data, 2 * (1 + 2 + 3 + 4)), "managed_memory_moves_between_both");

    int *first = nullptr, *second = nullptr;
    const size_t bytes = numbers * sizeof(int);
    cudaSetDevice(0);
    const bool has_first = cudaMalloc(&first, bytes) == cudaSuccess;
    cudaMemset(first, 0, bytes);
    add<<<blocks, threads>>>(first, 3);
    cudaSetDevice(1);
    const bool has_second = cudaMalloc(&second, bytes) == cudaSuccess;
    check(has_first && has_second && cudaMemcpyPeer(second, 1, first, 0, bytes) == cudaSuccess,
          "memory_of_one_is_copied_to_the_other");
    add<<<blocks, threads>>>(second, 4);
    cudaMemcpy(data, second, bytes, cudaMemcpyDeviceToHost);
    check(both_are_well() && all_are(data, 14), "each_computes_in_its_own");
    cudaFree(first);
    cudaFree(second);
    cudaFree(data);
}

/// A kernel of device 0 that writes late.
void test_copy_waits() {
    int* const flag = managed<int>(1);
    int *first = nullptr, *second = nullptr, copied = 0;
    cudaSetDevice(1);
    const bool has_second = cudaMalloc(&second, sizeof(int)) == cudaSuccess;
    cudaSetDevice(0);
    const bool has_first = cudaMalloc(&first, sizeof(int)) == cudaSuccess &&
                           cudaMemset(first, 0, sizeof(int)) == cudaSuccess;
    wait_for<<<1, 1>>>(flag, first);
    std::thread later([=] {
        usleep(50000);
        *static_cast<volatile int*>(flag) = 1;
    });
    cudaSetDevice(1);
    const cudaError_t error = cudaMemcpyPeer(second, 1, first, 0, sizeof(int));
    cudaMemcpy(&copied, second, sizeof(int), cudaMemcpyDeviceToHost);
    later.join();
    check(has_first && has_second && error == cudaSuccess && copied == 1,
          "a_copy_between_both_waits_for_their_work");
    both_are_well();
    cudaFree(first);
    cudaFree(second);
    cudaFree(flag);
}

/// One copy of each variable, unlike CUDA.
void test_variables() {
    int* const out = managed<int>(4);
    int value = 0;
    cudaSetDevice(0);
    count<<<1, 1>>>(out);
    const bool well = device_is_well();
    cudaSetDevice(1);
    count<<<1, 1>>>(out + 2);
    check(well && both_are_well() && out[0] == 5 && out[2] == 6 && out[1] == 10 && out[3] == 11,
          "both_use_one_copy_of_a_variable");
    value = 7;
    cudaSetDevice(1);
    cudaMemcpyToSymbol(factor, &value, sizeof(value));
    int *const data = managed<int>(numbers), *of_first = nullptr, *of_second = nullptr;
    cudaGetSymbolAddress(reinterpret_cast<void**>(&of_second), counter);
    cudaSetDevice(0);
    cudaGetSymbolAddress(reinterpret_cast<void**>(&of_first), counter);
    add<<<blocks, threads>>>(data, 1);
    check(device_is_well() && all_are(data, 7), "a_constant_is_set_for_both");
    check(of_first == of_second &&
              cudaMemcpyFromSymbol(&value, counter, sizeof(value)) == cudaSuccess && value == 7,
          "a_symbol_has_one_address");
    cudaFree(data);
    cudaFree(out);
}

void test_streams() {
    int* const out = managed<int>(2);
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    int device = -1;
    cudaSetDevice(1);
    check(cudaStreamCreate(&stream) == cudaSuccess &&
              cudaStreamGetDevice(stream, &device) == cudaSuccess && device == 1,
          "a_stream_belongs_to_the_current_device");
    cudaSetDevice(0);
    count<<<1, 1, 0, stream>>>(out);
    check(cudaGetLastError() == cudaErrorInvalidResourceHandle,
          "kernels_of_another_device_are_refused");
    // Device 1 waits for work that device 0 hasn't done yet.
    int* const flag = managed<int>(1);
    cudaEventCreate(&event);
    wait_for<<<1, 1>>>(flag, out);
    cudaEventRecord(event, nullptr);
    cudaSetDevice(1);
    const bool waits = cudaStreamWaitEvent(stream, event, 0) == cudaSuccess;
    add<<<1, 1, 0, stream>>>(out, 0);
    const bool not_yet = cudaStreamQuery(stream) == cudaErrorNotReady;
    *static_cast<volatile int*>(flag) = 1;
    check(waits && not_yet && cudaStreamSynchronize(stream) == cudaSuccess && out[0] == 1,
          "a_stream_waits_for_an_event_of_the_other");
    check(cudaStreamDestroy(stream) == cudaSuccess && both_are_well() &&
              cudaEventDestroy(event) == cudaSuccess,
          "streams_and_events_of_both_end");
    cudaFree(flag);
    cudaFree(out);
}

/// Each host thread has its own current device.
void test_threads() {
    int* const data = managed<int>(2 * numbers);
    bool good[2] = {};
    std::thread each[2];
    for (int device = 0; device < 2; device++)
        each[device] = std::thread([=, &good] {
            int current = -1;
            cudaSetDevice(device);
            for (int i = 0; i < 20; i++)
                add<<<blocks, threads>>>(data + device * numbers, 1);
            good[device] =
                device_is_well() && cudaGetDevice(&current) == cudaSuccess && current == device;
        });
    for (std::thread& thread : each)
        thread.join();
    check(good[0] && good[1] && all_are(data, 140) && all_are(data + numbers, 140),
          "threads_use_a_device_each");
    cudaFree(data);
}

void test_errors() {
    int* const data = managed<int>(numbers);
    cudaSetDevice(1);
    fail<<<1, 32>>>(data);
    check(cudaDeviceSynchronize() == cudaErrorIllegalAddress, "a_kernel_fails_on_one");
    add<<<blocks, threads>>>(data, 1);
    check(cudaGetLastError() == cudaErrorIllegalAddress, "that_one_runs_nothing_more");
    cudaSetDevice(0);
    cudaGetLastError();
    add<<<blocks, threads>>>(data, 1);
    check(device_is_well() && all_are(data, 7), "the_other_one_goes_on");
    cudaSetDevice(1);
    check(cudaDeviceReset() == cudaSuccess, "the_one_that_failed_is_reset");
    add<<<blocks, threads>>>(data, 1);
    check(both_are_well() && all_are(data, 14), "it_runs_again");
    cudaFree(data);
}

} // namespace

int main() {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) {
        printf("1..0 # SKIP there are no two devices\n");
        return 0;
    }
    test_memory();
    test_copy_waits();
    test_variables();
    test_streams();
    test_threads();
    test_errors();
    return end_checks();
}
