// SPDX-License-Identifier: MIT
// Launches that CUDA refuses, and the errors that it returns.
#include "check.h"

namespace {

__global__ void nothing(int* out) {
    out[0] = 1;
}

__global__ void full(int* out) {
    __shared__ int memory[4096];
    memory[threadIdx.x] = 1;
    __syncthreads();
    out[0] = memory[0];
}

/// Each case changes one thing in an otherwise valid launch.
void refuse(dim3 grid, dim3 block, size_t shared, cudaError_t wanted, const char* name) {
    int* out = managed<int>(1);
    full<<<grid, block, shared>>>(out);
    const cudaError_t found = cudaGetLastError();
    if (found != wanted) printf("# %s\n", cudaGetErrorName(found));
    check(found == wanted && device_is_well() && out[0] == 0, name);
    check(cudaGetLastError() == cudaSuccess, "the_error_is_reported_once");
    cudaFree(out);
}

void test_sizes() {
    int* out = managed<int>(1);
    full<<<dim3(1, 2, 2), dim3(2, 2, 64), 1024>>>(out);
    check(cudaGetLastError() == cudaSuccess && device_is_well() && out[0] == 1,
          "a_launch_of_good_sizes_runs");
    refuse(dim3(0), dim3(32), 0, cudaErrorInvalidValue, "no_blocks");
    refuse(dim3(1, 0), dim3(32), 0, cudaErrorInvalidValue, "no_blocks_in_y");
    refuse(dim3(1), dim3(0), 0, cudaErrorInvalidValue, "no_threads");
    refuse(dim3(1), dim3(1025), 0, cudaErrorInvalidValue, "too_many_threads");
    refuse(dim3(1), dim3(64, 32), 0, cudaErrorInvalidValue, "too_many_threads_in_a_block");
    refuse(dim3(1), dim3(1, 1, 65), 0, cudaErrorInvalidValue, "too_many_threads_in_z");
    refuse(dim3(1, 65536), dim3(32), 0, cudaErrorInvalidValue, "too_many_blocks_in_y");
    refuse(dim3(1 << 22), dim3(1024), 0, cudaErrorNotSupported, "too_many_threads_in_x");
}

/// A kernel has to request more than 48 KiB explicitly.
void test_dynamic_limit() {
    int* out = managed<int>(1);
    const size_t most = 227 * 1024 - 16384;
    cudaFuncAttributes found;
    check(cudaFuncGetAttributes(&found, full) == cudaSuccess &&
              found.maxDynamicSharedSizeBytes == 48 * 1024 - 16384,
          "a_kernel_has_48_kib");
    refuse(dim3(1), dim3(32), 48 * 1024 - 16384 + 1, cudaErrorInvalidValue, "more_than_48_kib");
    const auto set = [](size_t bytes) {
        return cudaFuncSetAttribute(full, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
    };
    check(set(most + 1) == cudaErrorInvalidValue, "more_than_all_is_refused");
    cudaGetLastError();
    check(set(most) == cudaSuccess && cudaFuncGetAttributes(&found, full) == cudaSuccess &&
              found.maxDynamicSharedSizeBytes == int(most),
          "all_can_be_asked_for");
    full<<<1, 32, most>>>(out);
    check(cudaGetLastError() == cudaSuccess && device_is_well() && out[0] == 1,
          "a_kernel_runs_with_all_of_it");
    refuse(dim3(1), dim3(32), most + 1, cudaErrorInvalidValue, "too_much_shared_memory");
}

void test_functions() {
    int *out = managed<int>(1), *none = nullptr;
    void *arguments[] = {&out}, *missing[] = {nullptr};
    check(cudaLaunchKernel(&none, dim3(1), dim3(1), arguments, 0, nullptr) ==
              cudaErrorInvalidResourceHandle,
          "what_is_no_kernel_is_not_launched");
    const void* const kernel = reinterpret_cast<const void*>(nothing);
    check(cudaLaunchKernel(kernel, dim3(1), dim3(1), nullptr, 0, nullptr) == cudaErrorInvalidValue,
          "no_arguments");
    check(cudaLaunchKernel(kernel, dim3(1), dim3(1), missing, 0, nullptr) == cudaErrorInvalidValue,
          "an_argument_is_missing");
    check(cudaLaunchCooperativeKernel(&none, dim3(1), dim3(1), arguments, 0, nullptr) ==
                  cudaErrorInvalidResourceHandle &&
              cudaLaunchCooperativeKernel(kernel, dim3(1), dim3(1), missing, 0, nullptr) ==
                  cudaErrorInvalidValue,
          "cooperative_launches_are_checked");
    cudaGetLastError();
    check(cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, nullptr) == cudaSuccess &&
              device_is_well() && out[0] == 1,
          "a_good_launch_runs");
}

__global__ void rotate(int* data) {
    __shared__ int copy[256];
    copy[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = copy[(threadIdx.x + 1) % blockDim.x];
}

void test_attributes() {
    cudaFuncAttributes found;
    check(cudaFuncGetAttributes(&found, rotate) == cudaSuccess && found.sharedSizeBytes == 1024,
          "the_attributes_of_a_kernel_have_its_shared_memory");
}

} // namespace

int main() {
    test_attributes();
    test_sizes();
    test_dynamic_limit();
    test_functions();
    return end_checks();
}
