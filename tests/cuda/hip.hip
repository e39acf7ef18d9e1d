// SPDX-License-Identifier: MIT
// HIP source: each part of its interface that programs use.
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

#include "check.h"

#include <cstring>
#include <unistd.h>

#if !defined(__HIPCC__) || !defined(__HIP_PLATFORM_NVIDIA__)
#error "the macros of HIP are missing"
#endif

__constant__ int table[4];
__device__ int counter;

__global__ void add(const int* a, const int* b, int* sum, int count) {
    const int i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x;
    if (i < count) sum[i] = a[i] + b[i] + table[i % 4];
}

template <class T, int Step>
__global__ void reverse(T* data) {
    HIP_DYNAMIC_SHARED(T, kept)
    kept[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x] + Step;
}

__global__ void exchange(unsigned int* out) {
    const int lane = threadIdx.x % warpSize;
    unsigned int sum = threadIdx.x;
    for (int delta = warpSize / 2; delta > 0; delta /= 2)
        sum += __shfl_xor(sum, delta);
    out[threadIdx.x] = sum + 1000 * __shfl(lane, 5) + 10000 * __shfl_down(lane, 1, 2) +
                       __any(lane == 3) + __all(lane < 32);
}

__global__ void exchange_half(unsigned long long* out) {
    out[threadIdx.x] = 0;
    if (threadIdx.x < 16)
        out[threadIdx.x] = __ballot(threadIdx.x % 2) << 32 | unsigned(__shfl_up(threadIdx.x, 1));
}

/// Each block takes the next block's number.
__global__ void rotate(int* numbers) {
    const auto grid = cooperative_groups::this_grid();
    const int next = (blockIdx.x + 1) % gridDim.x;
    numbers[blockIdx.x] = blockIdx.x;
    grid.sync();
    const int found = numbers[next];
    grid.sync();
    numbers[blockIdx.x] = grid.is_valid() ? found : -1;
}

__global__ void count() {
    atomicAdd(&counter, 1);
}

__global__ void side(bool* device) {
#ifdef __HIP_DEVICE_COMPILE__
    *device = true;
#endif
}

__global__ void time_passes(long long* ticks) {
    const long long start = wall_clock64();
    do {
        *ticks = wall_clock64() - start;
    } while (*ticks < 1000);
}

static void check_launches() {
    constexpr int items = 1000;
    const int steps[4] = {10, 20, 30, 40};
    int *a = nullptr, *b = nullptr, *sum = nullptr;
    check(hipMallocManaged(&a, items * sizeof(int)) == hipSuccess &&
              hipMallocManaged(&b, items * sizeof(int), hipMemAttachGlobal) == hipSuccess &&
              hipMalloc(&sum, items * sizeof(int)) == hipSuccess,
          "allocations");
    std::vector<int> wanted(items), found(items);
    for (int i = 0; i < items; i++) {
        a[i] = i;
        b[i] = 2 * i;
        wanted[i] = 3 * i + steps[i % 4];
    }
    check(hipMemcpyToSymbol(HIP_SYMBOL(table), steps, sizeof(steps)) == hipSuccess,
          "a_variable_of_the_device");
    hipLaunchKernelGGL(add, dim3(4), dim3(256), 0, 0, a, b, sum, items);
    check(hipGetLastError() == hipSuccess && hipDeviceSynchronize() == hipSuccess, "a_launch");
    check(hipMemcpy(found.data(), sum, items * sizeof(int), hipMemcpyDeviceToHost) == hipSuccess &&
              same(found.data(), wanted.data(), items),
          "its_result");

    hipLaunchKernelGGL(HIP_KERNEL_NAME(reverse<int, 7>), 1, 64, 64 * sizeof(int),
                       hipStreamPerThread, a);
    check(hipStreamSynchronize(hipStreamPerThread) == hipSuccess && a[0] == 70 && a[63] == 7,
          "a_template_with_dynamic_shared_memory");
    void* arguments[] = {&a};
    check(hipLaunchKernel(reverse<int, 1>, dim3(1), dim3(64), arguments, 64 * sizeof(int),
                          nullptr) == hipSuccess &&
              hipDeviceSynchronize() == hipSuccess && a[0] == 8,
          "a_launch_by_address");
    count<<<10, 10>>>();
    int counted = 0;
    check(hipMemcpyFromSymbol(&counted, HIP_SYMBOL(counter), sizeof(counted)) == hipSuccess &&
              counted == 100,
          "atomics");
    bool* device = managed<bool>(1);
    side<<<1, 1>>>(device);
    check(hipDeviceSynchronize() == hipSuccess && *device, "the_macro_of_the_device");
    auto* const ticks = managed<long long>(1);
    time_passes<<<1, 1>>>(ticks);
    check(hipDeviceSynchronize() == hipSuccess && *ticks >= 1000, "the_clock_of_the_wall");
    check(hipFree(ticks) == hipSuccess && hipFree(device) == hipSuccess &&
              hipFree(a) == hipSuccess && hipFree(b) == hipSuccess && hipFree(sum) == hipSuccess,
          "memory_is_given_back");
}

static void check_cooperative_launches() {
    hipDeviceProp_t properties;
    int blocks = 0, supported = 0;
    check(hipGetDeviceProperties(&properties, 0) == hipSuccess &&
              properties.cooperativeLaunch == 1 &&
              hipDeviceGetAttribute(&supported, hipDeviceAttributeCooperativeLaunch, 0) ==
                  hipSuccess &&
              supported == 1 &&
              hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, rotate, 32, 0) == hipSuccess,
          "cooperative_launches_are_possible");
    blocks *= properties.multiProcessorCount;
    int* numbers = managed<int>(blocks);
    void* arguments[] = {&numbers};
    check(hipLaunchCooperativeKernel(rotate, dim3(blocks), dim3(32), arguments, 0, nullptr) ==
                  hipSuccess &&
              hipDeviceSynchronize() == hipSuccess && numbers[0] == (blocks > 1 ? 1 : 0) &&
              numbers[blocks - 1] == 0,
          "blocks_wait_for_the_grid");
    check(hipLaunchCooperativeKernel(reinterpret_cast<const void*>(rotate), dim3(blocks + 1),
                                     dim3(32), arguments, 0,
                                     nullptr) == hipErrorCooperativeLaunchTooLarge,
          "too_many_blocks_are_refused");
    hipGetLastError();
    check(hipFree(numbers) == hipSuccess, "their_memory_is_given_back");
}

static void check_warps() {
    compare(
        exchange, 64,
        [](int t) { return (t < 32 ? 496u : 1520u) + 5000 + 10000 * (t % 32 | 1) + 2; },
        "operations_of_warps_without_a_mask");
    auto* const half = managed<unsigned long long>(32);
    exchange_half<<<1, 32>>>(half);
    check(device_is_well() && half[15] == (0xaaaaULL << 32 | 14) && half[16] == 0,
          "operations_of_a_part_of_a_warp");
    check(hipFree(half) == hipSuccess, "its_memory_is_given_back");
}

static void note(hipStream_t, hipError_t status, void* noted) {
    *static_cast<hipError_t*>(noted) = status;
}

static void check_streams() {
    hipStream_t stream = nullptr;
    hipEvent_t start = nullptr, stop = nullptr;
    check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking) == hipSuccess &&
              hipEventCreate(&start) == hipSuccess &&
              hipEventCreateWithFlags(&stop, hipEventBlockingSync | hipEventReleaseToSystem) ==
                  hipSuccess,
          "a_stream_and_events");
    char* pinned = nullptr;
    char* memory = nullptr;
    check(hipHostMalloc(&pinned, 100, hipHostMallocCoherent) == hipSuccess &&
              hipMallocAsync(&memory, 100, stream) == hipSuccess,
          "allocations_for_a_stream");
    float milliseconds = -1;
    hipError_t noted = hipErrorUnknown;
    check(hipEventRecord(start, stream) == hipSuccess &&
              hipMemsetAsync(memory, 3, 100, stream) == hipSuccess &&
              hipMemcpyAsync(pinned, memory, 100, hipMemcpyDefault, stream) == hipSuccess &&
              hipStreamAddCallback(stream, note, &noted, 0) == hipSuccess &&
              hipEventRecord(stop, stream) == hipSuccess &&
              hipEventSynchronize(stop) == hipSuccess &&
              hipEventElapsedTime(&milliseconds, start, stop) == hipSuccess,
          "work_in_a_stream");
    check(pinned[99] == 3 && milliseconds >= 0 && noted == hipSuccess, "its_results");
    check(hipFreeAsync(memory, stream) == hipSuccess && hipHostFree(pinned) == hipSuccess &&
              hipStreamDestroy(stream) == hipSuccess && hipEventDestroy(start) == hipSuccess &&
              hipEventDestroy(stop) == hipSuccess,
          "all_is_given_back");
}

static void wait_a_moment(void*) {
    usleep(50000);
}

/* Memory of the stack is used when the calls are made. */
static void check_copies_of_pageable_memory() {
    hipStream_t stream = nullptr;
    int* memory = nullptr;
    int source = 5, symbol = 6, target = 0, other = 0;
    hipStreamCreate(&stream);
    hipMalloc(&memory, sizeof(int));
    hipLaunchHostFunc(stream, wait_a_moment, nullptr);
    check(hipMemcpyAsync(memory, &source, sizeof(int), hipMemcpyHostToDevice, stream) ==
                  hipSuccess &&
              hipMemcpyToSymbolAsync(counter, &symbol, sizeof(int), 0, hipMemcpyHostToDevice,
                                     stream) == hipSuccess,
          "copies_from_pageable_memory");
    source = symbol = 7;
    check(hipMemcpyAsync(&target, memory, sizeof(int), hipMemcpyDeviceToHost, stream) ==
                  hipSuccess &&
              target == 5 &&
              hipMemcpyFromSymbolAsync(&other, counter, sizeof(int), 0, hipMemcpyDeviceToHost,
                                       stream) == hipSuccess &&
              other == 6,
          "copies_to_pageable_memory");
    check(hipFree(memory) == hipSuccess && hipStreamDestroy(stream) == hipSuccess,
          "what_was_copied_is_given_back");
}

static void check_devices() {
    int devices = 0, device = -1, value = 0, version = 0;
    hipDeviceProp_t properties;
    check(hipInit(0) == hipSuccess && hipGetDeviceCount(&devices) == hipSuccess && devices > 0 &&
              hipSetDevice(0) == hipSuccess && hipGetDevice(&device) == hipSuccess && device == 0 &&
              hipRuntimeGetVersion(&version) == hipSuccess && version == HIP_VERSION,
          "devices");
    check(system("HIP_VISIBLE_DEVICES=-1 exec /proc/$PPID/exe without-devices") == 0,
          "init_without_devices");
    check(hipGetDeviceProperties(&properties, 0) == hipSuccess && properties.name[0] != 0 &&
              properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024 &&
              properties.maxGridSize[2] == 65535 && properties.managedMemory == 1 &&
              properties.maxSharedMemoryPerMultiProcessor ==
                  properties.sharedMemPerMultiprocessor &&
              properties.arch.hasDoubles == 1 && properties.gcnArchName[0] == 0,
          "properties");
    check(hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, 0) == hipSuccess &&
              value == properties.multiProcessorCount &&
              hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(9999), 0) ==
                  hipErrorInvalidValue,
          "attributes");
    char name[256];
    check(hipDeviceGetName(name, sizeof(name), 0) == hipSuccess &&
              strcmp(name, properties.name) == 0 &&
              hipDeviceGet(&device, devices) == hipErrorInvalidDevice,
          "names");
}

static void check_places() {
    int* data = nullptr;
    constexpr size_t bytes = 1 << 20;
    int read_mostly = 0;
    hipPointerAttribute_t attributes;
    check(hipMallocManaged(&data, bytes) == hipSuccess &&
              hipMemPrefetchAsync(data, bytes, 0) == hipSuccess &&
              hipMemPrefetchAsync(data, bytes, hipCpuDeviceId, nullptr) == hipSuccess &&
              hipMemAdvise(data, bytes, hipMemAdviseSetReadMostly, 0) == hipSuccess &&
              hipMemAdvise(data, bytes, hipMemAdviseSetCoarseGrain, 0) == hipSuccess &&
              hipDeviceSynchronize() == hipSuccess,
          "prefetches_and_advice");
    check(hipMemRangeGetAttribute(&read_mostly, sizeof(int), hipMemRangeAttributeReadMostly, data,
                                  bytes) == hipSuccess &&
              read_mostly == 1,
          "attributes_of_memory");
    check(hipPointerGetAttributes(&attributes, data) == hipSuccess &&
              attributes.type == hipMemoryTypeManaged && attributes.isManaged == 1 &&
              attributes.devicePointer == data && hipFree(data) == hipSuccess,
          "attributes_of_pointers");
    void* symbol = nullptr;
    check(hipGetSymbolAddress(&symbol, HIP_SYMBOL(table)) == hipSuccess &&
              hipPointerGetAttributes(&attributes, symbol) == hipSuccess &&
              attributes.type == hipMemoryTypeDevice,
          "attributes_of_variables");
}

static void check_kernels() {
    int blocks = 0, grid = 0, block = 0;
    hipFuncAttributes attributes;
    check(hipFuncGetAttributes(&attributes, add) == hipSuccess &&
              attributes.maxThreadsPerBlock == 1024 &&
              hipFuncGetAttributes(nullptr, add) == hipErrorInvalidValue,
          "attributes_of_kernels");
    check(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0) == hipSuccess &&
              blocks > 0 &&
              hipOccupancyMaxPotentialBlockSize(&grid, &block, add, 0, 0) == hipSuccess &&
              grid > 0 && block == 1024,
          "occupancy");
}

static void check_errors() {
    void* memory = nullptr;
    hipGetLastError();
    check(hipMalloc(&memory, size_t(1) << 60) == hipErrorOutOfMemory &&
              hipPeekAtLastError() == hipErrorMemoryAllocation &&
              hipGetLastError() == hipErrorOutOfMemory && hipGetLastError() == hipSuccess,
          "the_last_error");
    check(hipSetDevice(-1) == hipErrorInvalidDevice &&
              hipStreamWaitEvent(nullptr, nullptr, 0) == hipErrorInvalidHandle,
          "errors");
    check(hipErrorInvalidHandle == 400 && hipErrorNotSupported == 801 &&
              hipErrorRuntimeOther == 1053 &&
              hmmHipError(cudaErrorMisalignedAddress) == hipErrorUnknown &&
              hmmHipError(cudaErrorSymbolNotFound) == hipErrorNotFound,
          "numbers_of_errors");
    check(strcmp(hipGetErrorName(hipErrorMemoryAllocation), "hipErrorOutOfMemory") == 0 &&
              strcmp(hipGetErrorName(hipSuccess), "hipSuccess") == 0 &&
              strcmp(hipGetErrorString(hipErrorInvalidDevice),
                     cudaGetErrorString(cudaErrorInvalidDevice)) == 0,
          "names_of_errors");
    hipGetLastError();
}

int main(int argc, char**) {
    if (argc > 1) return hipInit(0) == hipErrorNoDevice ? 0 : 1;
    check_launches();
    check_cooperative_launches();
    check_warps();
    check_streams();
    check_copies_of_pageable_memory();
    check_devices();
    check_places();
    check_kernels();
    check_errors();
    return end_checks();
}
