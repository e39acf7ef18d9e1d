// SPDX-License-Identifier: MIT
/*
 * Results of calls with wrong arguments or at a limit. The values are from an
 * H100 with CUDA 13.0, where this program also passes if built by nvcc; of()
 * takes CUDA's value and ours where they differ. Each failure of device code
 * has its own process, because nothing can run afterwards.
 */
#include "check.h"

#include <cassert>
#include <cstring>
#include <cuda_runtime.h>
#include <string>

namespace {

__device__ int variable;
__constant__ int constants[4];

__global__ void nothing() {}

__global__ void full(int* out) {
    __shared__ int memory[4096];
    memory[threadIdx.x] = 1;
    __syncthreads();
    out[0] = memory[0];
}

__global__ void write_to(int* where) {
    *where = 1;
}

__global__ void fail_an_assertion(int* zero) {
    assert(zero != nullptr);
}

__global__ void trap() {
    __trap();
}

#ifndef __HMMCC__
constexpr bool on_gpu = true;
#else
constexpr bool on_gpu = false;
#endif

constexpr cudaError_t of(cudaError_t gpu, cudaError_t here) {
    return on_gpu ? gpu : here;
}

int* memory_of_all() {
    return managed<int>(16384);
}

int* on_device() {
    int* memory = nullptr;
    cudaMalloc(&memory, 65536);
    return memory;
}

cudaEvent_t event(unsigned int flags = cudaEventDefault) {
    cudaEvent_t made = nullptr;
    cudaEventCreateWithFlags(&made, flags);
    return made;
}

/// Returns the error of a launch.
template <class Kernel, class... Arguments>
cudaError_t launch(Kernel kernel, dim3 grid, dim3 block, size_t shared, Arguments... arguments) {
    kernel<<<grid, block, shared>>>(arguments...);
    return cudaGetLastError();
}

cudaError_t launch_full(dim3 grid, dim3 block, size_t shared = 0) {
    return launch(full, grid, block, shared, memory_of_all());
}

cudaError_t launch_function(const void* function) {
    return cudaLaunchKernel(function, dim3(1), dim3(1), nullptr, 0, nullptr);
}

char host_memory[65536];

struct call {
    const char* name;
    cudaError_t wanted;
    cudaError_t (*make)();
};

const call memory_calls[] = {
    {"malloc_without_a_place", cudaErrorInvalidValue,
     [] { return cudaMalloc(static_cast<void**>(nullptr), 4); }},
    {"malloc_of_nothing", cudaSuccess,
     [] {
         void* p;
         return cudaMalloc(&p, 0);
     }},
    {"malloc_of_too_much", cudaErrorMemoryAllocation,
     [] {
         void* p;
         return cudaMalloc(&p, size_t{1} << 52);
     }},
    {"malloc_managed_of_nothing", cudaSuccess,
     [] {
         void* p;
         return cudaMallocManaged(&p, 0);
     }},
    {"malloc_managed_with_no_flags", cudaErrorInvalidValue,
     [] {
         void* p;
         return cudaMallocManaged(&p, 4, 0);
     }},
    {"malloc_managed_with_wrong_flags", cudaErrorInvalidValue,
     [] {
         void* p;
         return cudaMallocManaged(&p, 4, 64);
     }},
    {"malloc_host_of_nothing", cudaSuccess,
     [] {
         void* p;
         return cudaMallocHost(&p, 0);
     }},
    {"host_alloc_with_wrong_flags", cudaErrorInvalidValue,
     [] {
         void* p;
         return cudaHostAlloc(&p, 4, 64);
     }},
    {"free_of_null", cudaSuccess, [] { return cudaFree(nullptr); }},
    {"free_of_host_memory", cudaErrorInvalidValue, [] { return cudaFree(host_memory); }},
    {"free_of_the_middle", cudaErrorInvalidValue, [] { return cudaFree(on_device() + 1); }},
    {"free_twice", cudaErrorInvalidValue,
     [] {
         int* p = on_device();
         cudaFree(p);
         return cudaFree(p);
     }},
    {"free_host_of_null", cudaSuccess, [] { return cudaFreeHost(nullptr); }},
    {"free_host_of_device_memory", cudaErrorInvalidValue, [] { return cudaFreeHost(on_device()); }},
    {"free_host_of_host_memory", cudaErrorInvalidValue, [] { return cudaFreeHost(host_memory); }},
    {"free_of_pinned_memory", cudaErrorInvalidValue,
     [] {
         void* p;
         cudaMallocHost(&p, 64);
         return cudaFree(p);
     }},
    {"register_nothing", cudaErrorInvalidValue, [] { return cudaHostRegister(host_memory, 0, 0); }},
    {"register_null", cudaErrorInvalidValue, [] { return cudaHostRegister(nullptr, 4096, 0); }},
    {"register_twice", cudaErrorHostMemoryAlreadyRegistered,
     [] {
         cudaHostRegister(host_memory, 4096, 0);
         const cudaError_t error = cudaHostRegister(host_memory, 4096, 0);
         cudaHostUnregister(host_memory);
         return error;
     }},
    {"unregister_what_is_not_registered", cudaErrorHostMemoryNotRegistered,
     [] { return cudaHostUnregister(host_memory); }},
    {"device_pointer_of_what_is_not_registered", cudaErrorInvalidValue,
     [] {
         void* p;
         return cudaHostGetDevicePointer(&p, host_memory, 0);
     }},
    {"pitch_of_nothing", cudaSuccess,
     [] {
         void* p;
         size_t pitch;
         return cudaMallocPitch(&p, &pitch, 0, 0);
     }},
};

const call pool_calls[] = {
    {"malloc_async_without_a_place", cudaErrorInvalidValue,
     [] { return cudaMallocAsync(static_cast<void**>(nullptr), 4, nullptr); }},
    {"free_async_of_null", cudaSuccess, [] { return cudaFreeAsync(nullptr, nullptr); }},
    {"free_async_of_host_memory", cudaErrorInvalidValue,
     [] { return cudaFreeAsync(host_memory, nullptr); }},
    {"free_async_of_device_memory", cudaSuccess,
     [] { return cudaFreeAsync(on_device(), nullptr); }},
    {"free_async_of_a_part_of_device_memory", cudaErrorInvalidValue,
     [] { return cudaFreeAsync(on_device() + 64, nullptr); }},
    {"free_async_of_managed_memory", cudaErrorNotSupported,
     [] { return cudaFreeAsync(managed<int>(1024), nullptr); }},
};

const call memory_queries[] = {
    {"memory_info_without_a_place", cudaSuccess, [] { return cudaMemGetInfo(nullptr, nullptr); }},
    {"attributes_of_host_memory", cudaSuccess,
     [] {
         cudaPointerAttributes a;
         return cudaPointerGetAttributes(&a, host_memory);
     }},
    {"attributes_of_null", cudaSuccess,
     [] {
         cudaPointerAttributes a;
         return cudaPointerGetAttributes(&a, nullptr);
     }},
    {"attributes_without_a_place", cudaErrorInvalidValue,
     [] { return cudaPointerGetAttributes(nullptr, host_memory); }},
};

const call copy_calls[] = {
    {"copy_of_nothing", cudaSuccess,
     [] { return cudaMemcpy(on_device(), host_memory, 0, cudaMemcpyDefault); }},
    {"copy_of_nothing_to_null", cudaSuccess,
     [] { return cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyDefault); }},
    {"copy_to_null", cudaErrorInvalidValue,
     [] { return cudaMemcpy(nullptr, host_memory, 4, cudaMemcpyDefault); }},
    {"copy_from_null", cudaErrorInvalidValue,
     [] { return cudaMemcpy(on_device(), nullptr, 4, cudaMemcpyDefault); }},
    {"copy_in_no_direction", cudaErrorInvalidMemcpyDirection,
     [] { return cudaMemcpy(on_device(), host_memory, 4, static_cast<cudaMemcpyKind>(77)); }},
    {"copy_in_the_wrong_direction", of(cudaErrorInvalidValue, cudaSuccess),
     [] { return cudaMemcpy(on_device(), host_memory, 4, cudaMemcpyDeviceToHost); }},
    {"set_null", cudaErrorInvalidValue, [] { return cudaMemset(nullptr, 0, 4); }},
    {"set_nothing", cudaSuccess, [] { return cudaMemset(on_device(), 0, 0); }},
    {"copy_rows_wider_than_their_pitch", cudaErrorInvalidPitchValue,
     [] { return cudaMemcpy2D(on_device(), 4, host_memory, 8, 8, 2, cudaMemcpyDefault); }},
    {"set_rows_wider_than_their_pitch", cudaErrorInvalidValue,
     [] { return cudaMemset2D(on_device(), 4, 0, 8, 2); }},
    {"copy_one_row_without_a_pitch", cudaSuccess,
     [] { return cudaMemcpy2D(on_device(), 0, host_memory, 0, 8, 1, cudaMemcpyDefault); }},
    {"copy_one_row_wider_than_its_pitch", cudaErrorInvalidValue,
     [] { return cudaMemcpy2D(on_device(), 4, host_memory, 8, 8, 1, cudaMemcpyDefault); }},
    {"copy_no_rows_wider_than_their_pitch", cudaSuccess,
     [] { return cudaMemcpy2D(on_device(), 4, host_memory, 8, 8, 0, cudaMemcpyDefault); }},
    {"set_one_row_wider_than_its_pitch", cudaSuccess,
     [] { return cudaMemset2D(on_device(), 4, 0, 8, 1); }},
    {"copy_to_a_symbol", cudaSuccess,
     [] {
         int v = 1;
         return cudaMemcpyToSymbol(variable, &v, 4);
     }},
    {"copy_more_than_a_symbol", cudaErrorInvalidValue,
     [] { return cudaMemcpyToSymbol(variable, host_memory, 8); }},
    {"copy_behind_a_symbol", cudaErrorInvalidValue,
     [] { return cudaMemcpyToSymbol(constants, host_memory, 4, 16); }},
    {"copy_from_no_symbol", of(cudaErrorInvalidSymbol, cudaSuccess),
     [] { return cudaMemcpyFromSymbol(host_memory, host_memory, 4); }},
    {"address_of_no_symbol", of(cudaErrorInvalidSymbol, cudaSuccess),
     [] {
         void* p;
         return cudaGetSymbolAddress(&p, host_memory);
     }},
    {"size_of_no_symbol", of(cudaErrorInvalidSymbol, cudaSuccess),
     [] {
         size_t n;
         return cudaGetSymbolSize(&n, host_memory);
     }},
};

const call device_calls[] = {
    {"set_device_minus_one", cudaErrorInvalidDevice, [] { return cudaSetDevice(-1); }},
    {"set_device_thousand", cudaErrorInvalidDevice, [] { return cudaSetDevice(1000); }},
    {"properties_of_device_thousand", cudaErrorInvalidDevice,
     [] {
         cudaDeviceProp p;
         return cudaGetDeviceProperties(&p, 1000);
     }},
    {"attribute_of_device_thousand", cudaErrorInvalidDevice,
     [] {
         int v;
         return cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 1000);
     }},
    {"attribute_that_is_none", cudaErrorInvalidValue,
     [] {
         int v;
         return cudaDeviceGetAttribute(&v, static_cast<cudaDeviceAttr>(99999), 0);
     }},
    {"attribute_without_a_place", cudaErrorInvalidValue,
     [] { return cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0); }},
    {"count_without_a_place", cudaErrorInvalidValue, [] { return cudaGetDeviceCount(nullptr); }},
    {"peer_of_itself", cudaSuccess,
     [] {
         int v;
         return cudaDeviceCanAccessPeer(&v, 0, 0);
     }},
    {"peer_of_device_thousand", cudaErrorInvalidDevice,
     [] {
         int v;
         return cudaDeviceCanAccessPeer(&v, 0, 1000);
     }},
    {"enable_access_to_itself", cudaErrorPeerAccessUnsupported,
     [] { return cudaDeviceEnablePeerAccess(0, 0); }},
    {"disable_access_to_itself", cudaErrorPeerAccessNotEnabled,
     [] { return cudaDeviceDisablePeerAccess(0); }},
    {"bus_id_in_one_byte", of(cudaErrorInvalidValue, cudaErrorNotSupported),
     [] {
         char id[1];
         return cudaDeviceGetPCIBusId(id, 1, 0);
     }},
    {"device_of_a_wrong_bus_id", of(cudaErrorInvalidValue, cudaErrorNotSupported),
     [] {
         int d;
         return cudaDeviceGetByPCIBusId(&d, "nonsense");
     }},
    {"limit_that_is_none", cudaErrorInvalidValue,
     [] {
         size_t v;
         return cudaDeviceGetLimit(&v, static_cast<cudaLimit>(99));
     }},
    {"set_limit_that_is_none", cudaErrorInvalidValue,
     [] { return cudaDeviceSetLimit(static_cast<cudaLimit>(99), 1); }},
    {"version_without_a_place", cudaErrorInvalidValue,
     [] { return cudaRuntimeGetVersion(nullptr); }},
    {"driver_version_without_a_place", cudaErrorInvalidValue,
     [] { return cudaDriverGetVersion(nullptr); }},
};

const call placement_calls[] = {
    {"prefetch_to_device_thousand", cudaErrorInvalidDevice,
     [] {
         return cudaMemPrefetchAsync(memory_of_all(), 4096, {cudaMemLocationTypeDevice, 1000}, 0,
                                     nullptr);
     }},
    {"prefetch_of_nothing", cudaErrorInvalidValue,
     [] {
         return cudaMemPrefetchAsync(memory_of_all(), 0, {cudaMemLocationTypeDevice, 0}, 0,
                                     nullptr);
     }},
    {"prefetch_of_device_memory", of(cudaErrorInvalidValue, cudaSuccess),
     [] {
         return cudaMemPrefetchAsync(on_device(), 4096, {cudaMemLocationTypeDevice, 0}, 0, nullptr);
     }},
    {"prefetch_beyond_the_end", cudaErrorInvalidValue,
     [] {
         return cudaMemPrefetchAsync(memory_of_all(), size_t{1} << 46,
                                     {cudaMemLocationTypeDevice, 0}, 0, nullptr);
     }},
    {"prefetch_with_flags", cudaErrorInvalidValue,
     [] {
         return cudaMemPrefetchAsync(memory_of_all(), 4096, {cudaMemLocationTypeDevice, 0}, 7,
                                     nullptr);
     }},
    {"prefetch_to_nowhere", cudaErrorInvalidValue,
     [] {
         return cudaMemPrefetchAsync(memory_of_all(), 4096, {cudaMemLocationTypeInvalid, 0}, 0,
                                     nullptr);
     }},
    {"advice_that_is_none", cudaErrorInvalidValue,
     [] {
         return cudaMemAdvise(memory_of_all(), 4096, static_cast<cudaMemoryAdvise>(99),
                              {cudaMemLocationTypeDevice, 0});
     }},
    {"advice_about_device_thousand", cudaErrorInvalidValue,
     [] {
         return cudaMemAdvise(memory_of_all(), 4096, cudaMemAdviseSetPreferredLocation,
                              {cudaMemLocationTypeDevice, 1000});
     }},
    {"advice_about_nothing", cudaErrorInvalidValue,
     [] {
         return cudaMemAdvise(memory_of_all(), 0, cudaMemAdviseSetReadMostly,
                              {cudaMemLocationTypeDevice, 0});
     }},
    {"range_attribute_of_a_wrong_size", cudaErrorInvalidValue,
     [] {
         int v[2];
         return cudaMemRangeGetAttribute(v, 3, cudaMemRangeAttributeReadMostly, memory_of_all(),
                                         4096);
     }},
    {"range_attribute_of_host_memory", of(cudaErrorInvalidValue, cudaSuccess),
     [] {
         int v;
         return cudaMemRangeGetAttribute(&v, 4, cudaMemRangeAttributeReadMostly, on_device(), 4096);
     }},
};

const call stream_calls[] = {
    {"create_a_stream_without_a_place", cudaErrorInvalidValue,
     [] { return cudaStreamCreate(nullptr); }},
    {"create_a_stream_with_wrong_flags", cudaErrorInvalidValue,
     [] {
         cudaStream_t s;
         return cudaStreamCreateWithFlags(&s, 99);
     }},
    {"destroy_the_default_stream", cudaErrorInvalidResourceHandle,
     [] { return cudaStreamDestroy(nullptr); }},
    {"query_the_default_stream", cudaSuccess,
     [] {
         cudaDeviceSynchronize();
         return cudaStreamQuery(nullptr);
     }},
    {"wait_for_no_event", cudaErrorInvalidResourceHandle,
     [] { return cudaStreamWaitEvent(nullptr, nullptr, 0); }},
    {"call_no_host_function", cudaErrorInvalidValue,
     [] { return cudaLaunchHostFunc(nullptr, nullptr, nullptr); }},
    {"create_an_event_without_a_place", cudaErrorInvalidValue,
     [] { return cudaEventCreate(nullptr); }},
    {"create_an_event_with_wrong_flags", cudaErrorInvalidValue,
     [] {
         cudaEvent_t e;
         return cudaEventCreateWithFlags(&e, 99);
     }},
    {"record_no_event", cudaErrorInvalidResourceHandle,
     [] { return cudaEventRecord(nullptr, nullptr); }},
    {"destroy_no_event", cudaErrorInvalidResourceHandle, [] { return cudaEventDestroy(nullptr); }},
    {"query_an_event_that_is_not_recorded", cudaSuccess, [] { return cudaEventQuery(event()); }},
    {"wait_for_an_event_that_is_not_recorded", cudaSuccess,
     [] { return cudaEventSynchronize(event()); }},
    {"time_between_events_that_are_not_recorded", cudaErrorInvalidResourceHandle,
     [] {
         float t;
         return cudaEventElapsedTime(&t, event(), event());
     }},
    {"time_between_events_without_time", cudaErrorInvalidResourceHandle,
     [] {
         float t;
         const cudaEvent_t a = event(cudaEventDisableTiming), b = event(cudaEventDisableTiming);
         cudaEventRecord(a), cudaEventRecord(b), cudaEventSynchronize(b);
         return cudaEventElapsedTime(&t, a, b);
     }},
};

const call launch_calls[] = {
    {"launch_no_blocks", cudaErrorInvalidValue, [] { return launch_full(dim3(0), dim3(32)); }},
    {"launch_no_blocks_in_y", cudaErrorInvalidValue,
     [] { return launch_full(dim3(1, 0), dim3(32)); }},
    {"launch_no_threads", cudaErrorInvalidValue, [] { return launch_full(dim3(1), dim3(0)); }},
    {"launch_no_threads_in_z", cudaErrorInvalidValue,
     [] { return launch_full(dim3(1), dim3(1, 1, 0)); }},
    {"launch_1025_threads", cudaErrorInvalidValue, [] { return launch_full(dim3(1), dim3(1025)); }},
    {"launch_64_times_32_threads", cudaErrorInvalidValue,
     [] { return launch_full(dim3(1), dim3(64, 32)); }},
    {"launch_65_threads_in_z", cudaErrorInvalidValue,
     [] { return launch_full(dim3(1), dim3(1, 1, 65)); }},
    {"launch_65536_blocks_in_y", cudaErrorInvalidValue,
     [] { return launch_full(dim3(1, 65536), dim3(32)); }},
    {"launch_with_48_kib_and_a_byte", cudaErrorInvalidValue,
     [] { return launch_full(dim3(1), dim3(32), 48 * 1024 - 16384 + 1); }},
    {"launch_with_227_kib_and_a_byte", cudaErrorInvalidValue,
     [] { return launch_full(dim3(1), dim3(32), 227 * 1024 - 16384 + 1); }},
    {"launch_host_memory", cudaErrorInvalidResourceHandle,
     [] { return launch_function(host_memory); }},
    {"launch_null", cudaErrorInvalidDeviceFunction, [] { return launch_function(nullptr); }},
    {"launch_without_arguments", cudaErrorInvalidValue,
     [] { return launch_function(reinterpret_cast<const void*>(full)); }},
    {"attributes_of_no_kernel", of(cudaErrorInvalidResourceHandle, cudaSuccess),
     [] {
         cudaFuncAttributes a;
         return cudaFuncGetAttributes(&a, host_memory);
     }},
    {"attributes_of_a_kernel_without_a_place", cudaErrorInvalidValue,
     [] { return cudaFuncGetAttributes(nullptr, nothing); }},
    {"a_kernel_with_too_much_shared_memory", cudaErrorInvalidValue,
     [] {
         return cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20);
     }},
    {"occupancy_of_no_threads", cudaErrorInvalidValue,
     [] {
         int n;
         return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, nothing, 0, 0);
     }},
    {"occupancy_of_2000_threads", cudaSuccess,
     [] {
         int n;
         return cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, nothing, 2000, 0);
     }},
    {"occupancy_without_a_place", cudaErrorInvalidValue,
     [] { return cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, nothing, 32, 0); }},
};

/// cudaGetLastError() returns the error of each call, too, unless a launch has already consumed it.
template <size_t Count>
void check_calls(const call (&calls)[Count]) {
    for (const call& each : calls) {
        cudaGetLastError();
        const cudaError_t error = each.make(), last = cudaGetLastError();
        const bool good = error == each.wanted && (last == error || last == cudaSuccess);
        if (!good) printf("# %s, then %s\n", cudaGetErrorName(error), cudaGetErrorName(last));
        check(good, each.name);
    }
}

/// After these, nothing runs until the device is reset.
const call failures[] = {
    {"failed_assertion", cudaErrorAssert,
     [] { return launch(fail_an_assertion, dim3(1), dim3(1), 0, nullptr); }},
    {"failed_trap", of(cudaErrorLaunchFailure, cudaErrorIllegalInstruction),
     [] { return launch(trap, dim3(1), dim3(1), 0); }},
    {"failed_write_to_null", cudaErrorIllegalAddress,
     [] { return launch(write_to, dim3(1), dim3(1), 0, static_cast<int*>(nullptr)); }},
    {"failed_write_to_nowhere", cudaErrorIllegalAddress,
     [] { return launch(write_to, dim3(1), dim3(1), 0, reinterpret_cast<int*>(0x7000deadbee0)); }},
};

/// Returns the exit status of the process.
int fail(const call& failure) {
    void* memory = nullptr;
    if (failure.make() != cudaSuccess || cudaDeviceSynchronize() != failure.wanted) return 2;
    if (cudaGetLastError() != failure.wanted) return 3;
    if (cudaMalloc(&memory, 4) != failure.wanted) return 4;
    if (cudaDeviceSynchronize() != failure.wanted) return 5;
    return cudaDeviceReset() == cudaSuccess ? 0 : 6;
}

void check_failures(const std::string& program) {
    for (const call& each : failures) {
        const std::string command = program + " " + each.name + " 2>/dev/null";
        const int status = system(command.c_str());
        if (status != 0) printf("# status %#x\n", unsigned(status));
        check(status == 0, each.name);
    }
}

} // namespace

int main(int count, char** arguments) {
    if (count == 2) {
        for (const call& each : failures)
            if (strcmp(arguments[1], each.name) == 0) return fail(each);
        return 1;
    }
    check_calls(memory_calls), check_calls(pool_calls), check_calls(memory_queries);
    check_calls(copy_calls), check_calls(device_calls);
    check_calls(placement_calls), check_calls(stream_calls), check_calls(launch_calls);
    check_failures(arguments[0]);
    return end_checks();
}
