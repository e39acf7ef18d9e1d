// SPDX-License-Identifier: MIT
// Kernels that fail. Errors are sticky, so each failure has a process of its own: without an
// argument, the program runs itself for each of them.
#include "check.h"
#include "cooperative_groups.h"

#include <cstring>
#include <string>

namespace {

__global__ void apart(int* out) {
    if (threadIdx.x < 10) {
        out[0] = 1;
        __syncthreads();
    } else {
        out[1] = 1;
        __syncthreads();
    }
}

__global__ void half_of_warp(int* out) {
    if (threadIdx.x < 16)
        out[threadIdx.x] = __shfl_sync(0xffffffffU, threadIdx.x, 0);
    else
        __syncthreads();
}

__global__ void half_of_tile(int* out) {
    const auto block = cooperative_groups::this_thread_block();
    const auto tile = cooperative_groups::tiled_partition<16>(block);
    if (tile.thread_rank() < 8)
        out[threadIdx.x] = tile.shfl(threadIdx.x, 0);
    else
        block.sync();
}

__global__ void wrong_address(int* out) {
    if (threadIdx.x == 3) *reinterpret_cast<int*>(0x10000) = out[0];
}

__device__ void write_to(int* out, int turns) {
    if (turns == 0)
        *out = 1;
    else
        write_to(out, turns - 1);
}
__global__ void wrong_address_of_function(int* out) {
    out[threadIdx.x] = 0;
    __syncthreads();
    write_to(blockIdx.x == 1 && threadIdx.x == 37 ? reinterpret_cast<int*>(0x10000) : out, 2);
}

/// An address that no processor has.
__global__ void no_address(int* out) {
    if (threadIdx.x == 21 && blockIdx.x == 0)
        *reinterpret_cast<int*>(0x8000000000000000ULL) = out[0];
}

__global__ void wrong_assertion(int* out) {
    assert(out[threadIdx.x] == 0 && threadIdx.x < 5);
}

__device__ void require_zero(const int* out, int i) {
    assert(out[i] != 0);
}
__global__ void wrong_assertion_of_function(int* out) {
    __shared__ int copy[64];
    copy[threadIdx.x] = blockIdx.x;
    __syncthreads();
    if (copy[0] == 1 && threadIdx.x >= 40) require_zero(out, threadIdx.x);
}

__device__ int fails_at_end(int depth) {
    assert(depth > 0);
    return depth == 1 ? fails_at_end(0) : fails_at_end(depth - 1) + 1;
}
__global__ void wrong_assertion_of_recursion(int* out) {
    if (threadIdx.x >= 33 && blockIdx.x == 1) out[0] = fails_at_end(out[0] + 3);
}

__device__ __noinline__ void trap_in(int thread) {
    if (threadIdx.x == thread) __trap();
}
__device__ void (*const traps[])(int) = {trap_in};
__global__ void trap_behind_pointer(int* out) {
    if (blockIdx.x == 1) traps[out[0]](42);
}

__global__ void trap(int* out) {
    if (blockIdx.x == 1 && threadIdx.x == 7 + out[0]) __trap();
}

struct failing {
    const char* name;
    void (*kernel)(int*);
    cudaError_t error;
    const char* message; ///< on standard error
};

const failing failures[] = {
    {"barriers_at_different_places", apart, cudaErrorAssert,
     "thread (10, 0, 0) at __syncthreads ("},
    {"a_mask_with_lanes_that_do_not_come", half_of_warp, cudaErrorAssert,
     "thread (0, 0, 0) at a shuffle ("},
    {"a_tile_with_threads_that_do_not_come", half_of_tile, cudaErrorAssert,
     "thread (0, 0, 0) at a shuffle ("},
    {"an_illegal_address", wrong_address, cudaErrorIllegalAddress, "wrong_address"},
#ifndef __OPTIMIZE__
    {"the_thread_of_an_illegal_address", wrong_address_of_function, cudaErrorIllegalAddress,
     "wrong_address_of_function(int*), block (1, 0, 0), thread (37, 0, 0): write at address "
     "0x10000"},
    {"the_thread_of_no_address", no_address, cudaErrorIllegalAddress,
     "no_address(int*), block (0, 0, 0), thread (21, 0, 0): illegal address\n"},
#endif
    {"an_assertion", wrong_assertion, cudaErrorAssert, "thread (5, 0, 0): "},
    {"the_condition_of_an_assertion", wrong_assertion, cudaErrorAssert,
     "Assertion `out[threadIdx.x] == 0 && threadIdx.x < 5' failed."},
    {"an_assertion_of_a_function", wrong_assertion_of_function, cudaErrorAssert,
     "wrong_assertion_of_function(int*), block (1, 0, 0), thread (40, 0, 0): "},
    {"an_assertion_of_recursion", wrong_assertion_of_recursion, cudaErrorAssert,
     "wrong_assertion_of_recursion(int*), block (1, 0, 0), thread (33, 0, 0): "},
    {"a_trap_behind_a_pointer", trap_behind_pointer, cudaErrorIllegalInstruction,
     "trap_behind_pointer(int*), block (1, 0, 0), thread (42, 0, 0): "},
    {"a_trap", trap, cudaErrorIllegalInstruction,
     "trap(int*), block (1, 0, 0), thread (7, 0, 0): "},
    {"the_line_of_a_trap", trap, cudaErrorIllegalInstruction, "failing_kernels.cu:91: trap\n"},
};

/// Returns 0 if the launch fails as it should.
int run(const failing& what) {
    int* out = managed<int>(64);
    what.kernel<<<2, 64>>>(out);
    const cudaError_t found = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(found));
    return found == what.error && cudaGetLastError() == what.error ? 0 : 1;
}

} // namespace

int main(int count, char** arguments) {
    for (const failing& each : failures) {
        if (count == 1)
            check(says(std::string(arguments[0]) + " " + each.name, each.message), each.name);
        else if (strcmp(arguments[1], each.name) == 0)
            return run(each);
    }
    return count == 1 ? end_checks() : 2;
}
