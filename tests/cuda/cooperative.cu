// SPDX-License-Identifier: MIT
// Cooperative launches and grid barriers. An error is sticky, so each failing kernel has a process
// of its own: without an argument, the program runs itself for each of them.
#include "check.h"
#include "cooperative_groups.h"

#include <cstring>
#include <string>
#include <vector>

namespace {

namespace cg = cooperative_groups;

constexpr int threads = 64;

template <class... Parameters>
cudaError_t cooperate_in(cudaStream_t stream, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                         size_t shared, std::common_type_t<Parameters>... given) {
    void* arguments[] = {&given...};
    return cudaLaunchCooperativeKernel(kernel, grid, block, arguments, shared, stream);
}
template <class... Parameters>
cudaError_t cooperate(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared,
                      std::common_type_t<Parameters>... given) {
    return cooperate_in(nullptr, kernel, grid, block, shared, given...);
}

/// Computed as CUDA programs do.
template <class Kernel>
int most_blocks(Kernel kernel, int block, size_t shared = 0) {
    cudaDeviceProp properties;
    int blocks = 0;
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block, shared) !=
            cudaSuccess)
        return 0;
    return blocks * properties.multiProcessorCount;
}

// ---- phases that read what other blocks wrote --------------------------------------

/// Prefix sums. Both halves of @data have @count elements.
__global__ void sum_up(unsigned int* data, unsigned int count) {
    const cg::grid_group grid = cg::this_grid();
    const unsigned int i = grid.thread_rank();
    unsigned int from = 0;
    for (unsigned int step = 1; step < count; step *= 2) {
        const unsigned int value = data[from + i];
        // QEMU's emulation of masked vector loads also reads elements that are masked out
        const unsigned int before = data[from + (i >= step ? i - step : i)];
        data[count - from + i] = i >= step ? value + before : value;
        from = count - from;
        grid.sync();
    }
    if (from == 0) data[count + i] = data[i];
}

void check_sums(int blocks, const char* name) {
    const int count = blocks * threads;
    auto* const data = managed<unsigned int>(2 * count);
    std::vector<unsigned int> wanted(count);
    for (int i = 0; i < count; i++) {
        data[i] = i * 7 + 1;
        wanted[i] = data[i] + (i > 0 ? wanted[i - 1] : 0);
    }
    check(cooperate(sum_up, blocks, threads, 0, data, count) == cudaSuccess && device_is_well() &&
              same(data + count, wanted.data(), count),
          name);
    cudaFree(data);
}

__device__ unsigned int around(const unsigned int* cells, unsigned int i, unsigned int count) {
    return cells[(i + count - 1) % count] * 3 + cells[i] + cells[(i + 1) % count] * 5;
}

/// An iteration over a ring of cells, which ends when all blocks are done.
__device__ void advance(const unsigned int* from, unsigned int* to, unsigned int count) {
    const cg::grid_group grid = cg::this_grid();
    for (unsigned int i = grid.thread_rank(); i < count; i += grid.size())
        to[i] = around(from, i, count);
    cg::sync(grid);
}

__global__ void run_ring(unsigned int* one, unsigned int* other, unsigned int count, int rounds) {
    for (int i = 0; i < rounds; i++) {
        advance(one, other, count);
        advance(other, one, count);
    }
}

void check_ring(int blocks) {
    constexpr int count = 333, rounds = 60;
    auto *const one = managed<unsigned int>(count), *const other = managed<unsigned int>(count);
    std::vector<unsigned int> wanted(count), next(count);
    for (int i = 0; i < count; i++)
        one[i] = wanted[i] = i;
    for (int round = 0; round < 2 * rounds; round++) {
        for (int i = 0; i < count; i++)
            next[i] = wanted[(i + count - 1) % count] * 3 + wanted[i] + wanted[(i + 1) % count] * 5;
        wanted.swap(next);
    }
    check(cooperate(run_ring, blocks, threads, 0, one, other, count, rounds) == cudaSuccess &&
              device_is_well() && same(one, wanted.data(), count),
          "a_device_function_waits_for_the_grid");
    cudaFree(one), cudaFree(other);
}

// ---- values that live across a grid barrier ----------------------------------------

struct table {
    int value[8];
};

/// Each thread keeps numbers, an array and a pointer into a parameter; the block keeps shared
/// memory, and there is a uniform value.
__global__ void keep(int* scale, const int* in, int* out, table values) {
    extern __shared__ int dynamic[];
    __shared__ int fixed[threads];
    const cg::grid_group grid = cg::this_grid();
    const int i = grid.thread_rank(), t = threadIdx.x;
    const int same = *scale, mine = in[i];
    const int* const entry = &values.value[mine % 8];
    int numbers[4] = {mine, mine + 1, mine + 2, mine + 3};
    fixed[t] = mine * 2;
    dynamic[t] = mine * 3;
    grid.sync();
    if (i == 0) *scale = 1000;
    numbers[mine % 4] += 10;
    grid.sync();
    __syncthreads();
    const int other = (t + 1) % threads;
    const int sum = numbers[0] + 2 * numbers[1] + 3 * numbers[2] + 4 * numbers[3];
    out[i] = same * (sum + fixed[other] + dynamic[other]) + mine + *entry + *scale;
}

void check_values(int blocks) {
    const int count = blocks * threads;
    auto *const scale = managed<int>(1), *const in = managed<int>(count);
    auto* const out = managed<int>(count);
    const table values = {{11, 22, 33, 44, 55, 66, 77, 88}};
    std::vector<int> wanted(count);
    *scale = 3;
    for (int i = 0; i < count; i++)
        in[i] = i * 37 % 101;
    for (int i = 0; i < count; i++) {
        const int next = in[i / threads * threads + (i % threads + 1) % threads];
        const int sum = 10 * in[i] + 20 + 10 * (in[i] % 4 + 1);
        wanted[i] = 3 * (sum + 5 * next) + in[i] + values.value[in[i] % 8] + 1000;
    }
    check(cooperate(keep, blocks, threads, threads * sizeof(int), scale, in, out, values) ==
                  cudaSuccess &&
              device_is_well() && same(out, wanted.data(), count),
          "values_and_shared_memory_live_across_it");
    cudaFree(scale), cudaFree(in), cudaFree(out);
}

/// Together with warp operations: each iteration adds the sums of all blocks to all elements.
__global__ void add_sums(unsigned int* data, unsigned int* sums, int rounds) {
    const cg::grid_group grid = cg::this_grid();
    const unsigned int i = grid.thread_rank();
    unsigned int same = 0;
    for (int round = 0; round < rounds; round++) {
        unsigned int sum = data[i];
        for (int delta = 16; delta > 0; delta /= 2)
            sum += __shfl_down_sync(0xffffffffU, sum, delta);
        if (threadIdx.x % 32 == 0) atomicAdd(&sums[round], sum);
        grid.sync();
        same += sums[round];
        data[i] += same;
        __syncwarp();
    }
}

void check_warps(int blocks) {
    constexpr int rounds = 5;
    const int count = blocks * threads;
    auto *const data = managed<unsigned int>(count), *const sums = managed<unsigned int>(rounds);
    std::vector<unsigned int> wanted(count);
    for (int i = 0; i < count; i++)
        data[i] = wanted[i] = i * 5 + 2;
    unsigned int total = 0;
    for (int round = 0; round < rounds; round++) {
        for (const unsigned int each : wanted)
            total += each;
        for (unsigned int& each : wanted)
            each += total;
    }
    check(cooperate(add_sums, blocks, threads, 0, data, sums, rounds) == cudaSuccess &&
              device_is_well() && same(data, wanted.data(), count),
          "operations_of_warps_are_beside_it");
    cudaFree(data), cudaFree(sums);
}

/// Threads that end early, divergent paths to a barrier, and blocks that wait at different
/// barriers.
__global__ void go_apart(unsigned int* out, const int* turns) {
    const cg::grid_group grid = cg::this_grid();
    const unsigned int i = grid.thread_rank();
    if (threadIdx.x >= 50) return;
    unsigned int found = i;
    for (int turn = 0; turn < turns[i]; turn++)
        found += __ballot_sync(__activemask(), 1) != 0 ? 3 : 100;
    out[i] = found;
    if (blockIdx.x == 0) {
        grid.sync();
        found += 1000;
    } else {
        grid.sync();
        found += 2000;
    }
    const unsigned int next = (blockIdx.x + 1) % gridDim.x * blockDim.x + threadIdx.x;
    const unsigned int other = out[next];
    grid.sync();
    out[i] = found + other * 10000;
}

void check_ways(int blocks) {
    const int count = blocks * threads;
    auto* const out = managed<unsigned int>(count);
    auto* const turns = managed<int>(count);
    std::vector<unsigned int> first(count), wanted(count);
    for (int i = 0; i < count; i++) {
        turns[i] = i % 4;
        first[i] = i + 3 * (i % 4);
    }
    for (int i = 0; i < count; i++)
        if (i % threads < 50)
            wanted[i] =
                first[i] + (i < threads ? 1000 : 2000) + first[(i + threads) % count] * 10000;
    check(cooperate(go_apart, blocks, threads, 0, out, turns) == cudaSuccess && device_is_well() &&
              same(out, wanted.data(), count),
          "threads_come_to_it_on_several_ways");
    cudaFree(out), cudaFree(turns);
}

// ---- launches ----------------------------------------------------------------------

__global__ void places(unsigned int* out) {
    const cg::grid_group grid = cg::this_grid();
    const bool good = grid.is_valid() && grid.num_threads() == grid.num_blocks() * 24 &&
                      grid.size() == grid.num_threads() && grid.group_dim().y == gridDim.y &&
                      grid.block_rank() == blockIdx.y && grid.dim_blocks().x == 1 &&
                      grid.thread_rank() == grid.block_rank() * 24 + threadIdx.y * 8 + threadIdx.x;
    out[grid.thread_rank()] = good ? 1 + grid.block_index().y : 0;
}

__global__ void valid_if_cooperative(int* out) {
    const cg::grid_group grid = cg::this_grid();
    if (grid.is_valid()) grid.sync();
    if (grid.thread_rank() == 0) *out = grid.is_valid() ? 2 : 1;
}

void check_places(int blocks) {
    auto* const out = managed<unsigned int>(24 * blocks);
    std::vector<unsigned int> wanted(24 * blocks);
    for (int i = 0; i < 24 * blocks; i++)
        wanted[i] = 1 + i / 24;
    check(cooperate(places, dim3(1, blocks), dim3(8, 3), 0, out) == cudaSuccess &&
              device_is_well() && same(out, wanted.data(), 24 * blocks),
          "a_grid_has_sizes_and_ranks");
    cudaFree(out);
    int *found = managed<int>(1), supported = 0;
    valid_if_cooperative<<<blocks, 32>>>(found);
    check(device_is_well() && *found == 1, "a_grid_of_another_launch_is_not_valid");
    check(cooperate(valid_if_cooperative, blocks, 32, 0, found) == cudaSuccess &&
              device_is_well() && *found == 2,
          "a_grid_of_a_cooperative_launch_is_valid");
    check(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0) == cudaSuccess &&
              supported == 1,
          "the_device_has_cooperative_launches");
    cudaFree(found);
}

void check_sizes(int most) {
    int* const out = managed<int>(1);
    check(cooperate(valid_if_cooperative, most + 1, 32, 0, out) ==
                  cudaErrorCooperativeLaunchTooLarge &&
              cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge,
          "too_many_blocks");
    check(cooperate(valid_if_cooperative, dim3(65535, 65535, 65535), 32, 0, out) ==
              cudaErrorCooperativeLaunchTooLarge,
          "very_many_blocks");
    check(cooperate(valid_if_cooperative, 0, 32, 0, out) == cudaErrorInvalidValue, "no_blocks");
    cudaGetLastError();
    check(device_is_well() && *out == 0, "nothing_has_run");
    bool good = true;
    for (int i = 0; i < 300; i++)
        good = good && cooperate(valid_if_cooperative, most, 32, 0, out) == cudaSuccess;
    check(good && device_is_well() && *out == 2, "launches_give_their_memory_back");
    cudaFree(out);
}

__global__ void wait_for(volatile int* flag) {
    while (*flag == 0)
        __nanosleep(100000);
}

/// Lanes that are busy with other work don't block a grid.
void check_busy_lanes(int most) {
    cudaStream_t streams[3];
    for (cudaStream_t& each : streams)
        if (cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking) != cudaSuccess) exit(1);
    int *const flag = managed<int>(1), *const out = managed<int>(2);
    const int busy = most - 1;
    if (busy > 0) wait_for<<<busy, 1, 0, streams[0]>>>(flag);
    check(cooperate_in(streams[1], valid_if_cooperative, most, 32, 0, out) == cudaSuccess &&
              cooperate_in(streams[2], valid_if_cooperative, most, 32, 0, out + 1) == cudaSuccess &&
              cudaStreamSynchronize(streams[1]) == cudaSuccess &&
              cudaStreamSynchronize(streams[2]) == cudaSuccess && out[0] == 2 && out[1] == 2,
          "a_grid_needs_one_lane");
    *flag = 1;
    check(device_is_well(), "the_other_work_ends");
    for (const cudaStream_t each : streams)
        cudaStreamDestroy(each);
    cudaFree(flag), cudaFree(out);
}

// ---- failures ----------------------------------------------------------------------

__global__ void syncs(int* out) {
    out[0] = 1;
    cg::this_grid().sync();
    out[1] = 1;
}

__global__ void last_block_ends(int* out) {
    if (blockIdx.x + 1 == gridDim.x) return;
    cg::this_grid().sync();
    out[1] = 1;
}

__global__ void last_block_fails(int* out) {
    assert(blockIdx.x + 1 < gridDim.x);
    cg::this_grid().sync();
    out[1] = 1;
}

__global__ void block_fails_later(int* out) {
    cg::this_grid().sync();
    if (blockIdx.x == 0) *reinterpret_cast<int*>(0x10000) = out[0];
    cg::this_grid().sync();
    out[1] = 1;
}

__global__ void barriers_of_two_kinds(int* out) {
    if (threadIdx.x < 5) {
        out[0] = 1;
        cg::this_grid().sync();
    } else {
        __syncthreads();
    }
    out[1] = 1;
}

struct failing {
    const char* name;
    void (*kernel)(int*);
    bool cooperative;
    cudaError_t error;
    const char* message; ///< on standard error
};

const failing failures[] = {
    {"a_barrier_in_another_launch", syncs, false, cudaErrorAssert,
     "not cooperative: use cudaLaunchCooperativeKernel()"},
    {"a_block_that_has_ended", last_block_ends, true, cudaErrorAssert,
     ", which has already exited"},
    {"a_block_that_fails", last_block_fails, true, cudaErrorAssert, "last_block_fails"},
    {"a_block_that_fails_behind_a_barrier", block_fails_later, true, cudaErrorIllegalAddress,
     "block_fails_later"},
    {"barriers_of_two_kinds", barriers_of_two_kinds, true, cudaErrorAssert,
     "thread (0, 0, 0) at grid_group::sync() ("},
};

/// Returns 0 if the launch fails as it should, and grids can run again afterwards.
int run(const failing& what) {
    int* out = managed<int>(2);
    const int blocks = most_blocks(what.kernel, 32);
    if (what.cooperative)
        cooperate(what.kernel, blocks, 32, 0, out);
    else
        what.kernel<<<blocks, 32>>>(out);
    const cudaError_t found = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorName(found));
    if (found != what.error || out[1] != 0 || cudaDeviceReset() != cudaSuccess) return 1;
    out = managed<int>(2);
    return cooperate(syncs, blocks, 32, 0, out) == cudaSuccess && device_is_well() && out[1] == 1
               ? 0
               : 1;
}

} // namespace

int main(int count, char** arguments) {
    if (count > 1) {
        for (const failing& each : failures)
            if (strcmp(arguments[1], each.name) == 0) return run(each);
        return 2;
    }
    const int most = most_blocks(sum_up, threads);
    check(most > 0, "some_blocks_are_possible");
    check_sums(1, "one_block");
    check_sums(most, "blocks_read_what_others_have_written");
    check_ring(most);
    check_values(most);
    check_warps(most);
    check_ways(most);
    check_places(most);
    check_sizes(most);
    check_busy_lanes(most);
    for (const failing& each : failures) {
        if (most == 1 && each.kernel == last_block_ends) continue; // needs several blocks
        check(says(std::string(arguments[0]) + " " + each.name, each.message), each.name);
    }
    return end_checks();
}
