// SPDX-License-Identifier: MIT
// Functions that can't be inlined into kernels, because they are recursive or called through a
// pointer. They know their thread, and may have __shared__ variables.
#include "check.h"
#include "cooperative_groups.h"

#include <cstdlib>
#include <cstring>

namespace {

constexpr int width = 48, height = 3, depth = 2, blocks = 6; // of a block with 288 threads
constexpr int threads = width * height * depth;

const dim3 block_of_threads(width, height, depth);
const dim3 grid_of_blocks(blocks / 2, 1, 2);

/// A number that identifies a thread. The device reads all of its parts.
__host__ __device__ unsigned int number(uint3 thread, uint3 block, dim3 size, dim3 grid) {
    const unsigned int parts[] = {thread.x, thread.y, thread.z, block.x, block.y, block.z,
                                  size.x,   size.y,   size.z,   grid.x,  grid.y,  grid.z};
    unsigned int mixed = 0;
    for (const unsigned int part : parts)
        mixed = mixed * 31 + part;
    return mixed;
}

/// Compares what the kernel wrote with @wanted(number, thread, block) for each thread.
template <class Kernel, class Wanted>
void check_grid(Kernel kernel, Wanted wanted, const char* name, size_t shared = 0) {
    unsigned int* const out = managed<unsigned int>(blocks * threads);
    std::vector<unsigned int> expected;
    for (unsigned int b = 0; b < blocks; b++)
        for (unsigned int t = 0; t < threads; t++) {
            const uint3 thread = {t % width, t / width % height, t / width / height};
            const uint3 block = {b % (blocks / 2), 0, b / (blocks / 2)};
            expected.push_back(
                wanted(number(thread, block, block_of_threads, grid_of_blocks), t, b));
        }
    kernel<<<grid_of_blocks, block_of_threads, shared>>>(out);
    check(device_is_well() && same(out, expected.data(), blocks * threads), name);
    cudaFree(out);
}

__device__ unsigned int rank_in_block() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__device__ unsigned int rank_of_block() {
    return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}
__device__ unsigned int rank_in_grid() {
    return rank_of_block() * threads + rank_in_block();
}

// ---- positions ----------------------------------------------------------------

__device__ unsigned int down(unsigned int turns) {
    return turns == 0 ? number(threadIdx, blockIdx, blockDim, gridDim) : down(turns - 1) + 1;
}
__global__ void recursion(unsigned int* out) {
    const unsigned int i = rank_in_grid();
    out[i] = down(i % 7);
}

__device__ unsigned int pong(unsigned int turns);
__device__ unsigned int ping(unsigned int turns) {
    return turns == 0 ? threadIdx.x : 2 * pong(turns - 1);
}
__device__ unsigned int pong(unsigned int turns) {
    return turns == 0 ? threadIdx.y : 3 + ping(turns - 1);
}
__host__ unsigned int ping_of(unsigned int turns, bool is_pong, unsigned int x, unsigned int y) {
    if (turns == 0) return is_pong ? y : x;
    return is_pong ? 3 + ping_of(turns - 1, false, x, y) : 2 * ping_of(turns - 1, true, x, y);
}
__global__ void two_that_call_each_other(unsigned int* out) {
    out[rank_in_grid()] = ping(rank_in_block() % 5);
}

__device__ unsigned int first_way(unsigned int n) {
    return n + threadIdx.z;
}
__device__ unsigned int second_way(unsigned int n) {
    return n * blockIdx.x + down(0);
}
using way = unsigned int (*)(unsigned int);
__device__ way const ways[] = {first_way, second_way};
__device__ way chosen = second_way;
__global__ void table(unsigned int* out) {
    const unsigned int i = rank_in_grid();
    out[i] = ways[i % 2](i);
}
__global__ void given_pointer(way function, unsigned int* out) {
    const unsigned int i = rank_in_grid();
    out[i] = function(i);
}

struct figure {
    __device__ virtual unsigned int area() const { return threadIdx.x; }
};
struct square : figure {
    __device__ unsigned int area() const override { return threadIdx.x * threadIdx.y + gridDim.z; }
};
__global__ void virtual_functions(unsigned int* out) {
    const figure any;
    const square special;
    const unsigned int i = rank_in_grid();
    const figure* const chosen_figure = i % 3 == 0 ? &any : &special;
    out[i] = chosen_figure->area();
}

__global__ void lambda(unsigned int* out) {
    unsigned int (*const functions[])(unsigned int) = {
        [](unsigned int n) { return n + threadIdx.x; },
        [](unsigned int n) { return n ^ blockDim.x; }};
    const unsigned int i = rank_in_grid();
    out[i] = functions[i / 2 % 2](i);
}

/// A callback from the C library.
__device__ int compare_with_thread(const void* a, const void* b) {
    const auto distance = [](const void* of) {
        return abs(*static_cast<const int*>(of) - int(threadIdx.x % 16));
    };
    return distance(a) - distance(b);
}
__global__ void callback(unsigned int* out) {
    int numbers[16];
    for (int i = 0; i < 16; i++)
        numbers[i] = (i * 7 + 3) % 16;
    qsort(numbers, 16, sizeof(int), compare_with_thread);
    out[rank_in_grid()] = numbers[0];
}

/// The attribute doesn't hold, because the function reads threadIdx.
__device__ __attribute__((const)) unsigned int promising(unsigned int turns) {
    return turns == 0 ? threadIdx.x : promising(turns - 1);
}
__device__ __attribute__((const)) unsigned int promising_more(unsigned int turns) {
    return turns == 0 ? down(0) : promising_more(turns - 1);
}
__device__ way const promised[] = {promising, promising_more};
__global__ void promise(unsigned int* out) {
    unsigned int (*const function)(unsigned int) __attribute__((const)) = promised[blockIdx.x % 2];
    const unsigned int before = promising_more(1) + function(2);
    __syncthreads();
    out[rank_in_grid()] = before + promising_more(1) + function(2) + promising(gridDim.z);
}

void check_positions() {
    check_grid(
        recursion, [](unsigned int at, int t, int b) { return at + (b * threads + t) % 7; },
        "recursion");
    check_grid(
        two_that_call_each_other,
        [](unsigned int, unsigned int t, int) {
            return ping_of(t % 5, false, t % width, t / width % height);
        },
        "two_functions_that_call_each_other");
    const auto of_second = [](unsigned int at, unsigned int t, unsigned int b) {
        return (b * threads + t) * (b % (blocks / 2)) + at;
    };
    check_grid(
        table,
        [=](unsigned int at, unsigned int t, unsigned int b) {
            return t % 2 == 0 ? b * threads + t + t / width / height : of_second(at, t, b);
        },
        "a_table_of_functions");
    way function = nullptr;
    cudaMemcpyFromSymbol(&function, chosen, sizeof(function));
    unsigned int* const out = managed<unsigned int>(threads);
    given_pointer<<<1, block_of_threads>>>(function, out);
    bool good = device_is_well();
    for (unsigned int t = 0; t < threads; t++)
        good = good && out[t] == number({t % width, t / width % height, t / width / height},
                                        {0, 0, 0}, block_of_threads, {1, 1, 1});
    check(good, "a_function_that_the_host_has_got");
    cudaFree(out);
    check_grid(
        virtual_functions,
        [](unsigned int, unsigned int t, unsigned int b) {
            const unsigned int x = t % width;
            return (b * threads + t) % 3 == 0 ? x : x * (t / width % height) + 2;
        },
        "virtual_functions");
    check_grid(
        lambda,
        [](unsigned int, unsigned int t, unsigned int b) {
            const unsigned int i = b * threads + t;
            return i / 2 % 2 == 0 ? i + t % width : i ^ width;
        },
        "lambdas_as_functions");
    check_grid(
        callback, [](unsigned int, unsigned int t, int) { return t % width % 16; },
        "a_function_that_the_library_calls");
    check_grid(
        promise,
        [](unsigned int at, unsigned int t, unsigned int b) {
            const unsigned int x = t % width;
            return 2 * (at + (b % (blocks / 2) % 2 == 0 ? x : at)) + x;
        },
        "a_function_that_promises_too_much");
}

// ---- between barriers, in warps, and in several blocks ---------------------------

__global__ void around_barriers(unsigned int* out) {
    __shared__ unsigned int given[threads];
    const unsigned int self = rank_in_block();
    const unsigned int before = down(self % 3);
    given[self] = before;
    __syncthreads();
    const unsigned int other = given[(self + 1) % threads];
    __syncthreads();
    given[self] = other - down(1);
    __syncthreads();
    out[rank_in_grid()] = given[self] + before;
}

/// Threads of a warp diverge and call different functions.
__global__ void apart(unsigned int* out) {
    const unsigned int self = rank_in_block();
    unsigned int sum = 0;
    if (self % 3 == 0)
        sum = ways[0](self);
    else if (self % 3 == 1)
        sum = down(self % 2);
    const unsigned int from = __shfl_xor_sync(~0U, sum, 1);
    out[rank_in_grid()] = from + ping(1 + self % 2);
}

unsigned int down_in(unsigned int t, unsigned int b) {
    return number({t % width, t / width % height, t / width / height},
                  {b % (blocks / 2), 0, b / (blocks / 2)}, block_of_threads, grid_of_blocks);
}

/// Blocks may continue in other lanes after the barrier.
__global__ void around_grid_barrier(unsigned int* out, unsigned int* kept) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int all = gridDim.x * blockDim.x;
    kept[i] = ping(i % 4);
    cooperative_groups::this_grid().sync();
    const unsigned int other = kept[all - 1 - i];
    out[i] = other + down(2) + ping(0);
}

void check_grid_barrier() {
    constexpr unsigned int size = 40;
    cudaDeviceProp properties = {};
    cudaGetDeviceProperties(&properties, 0);
    const unsigned int count = properties.multiProcessorCount;
    unsigned int* out = managed<unsigned int>(count * size);
    unsigned int* kept = managed<unsigned int>(count * size);
    void* arguments[] = {&out, &kept};
    cudaLaunchCooperativeKernel(around_grid_barrier, count, size, arguments);
    bool good = device_is_well();
    for (unsigned int i = 0; i < count * size; i++) {
        const unsigned int other = count * size - 1 - i;
        const unsigned int wanted =
            ping_of(other % 4, false, other % size, 0) +
            number({i % size, 0, 0}, {i / size, 0, 0}, {size, 1, 1}, {count, 1, 1}) + 2 + i % size;
        good = good && out[i] == wanted;
    }
    check(good, "around_a_barrier_of_the_grid");
    cudaFree(out);
    cudaFree(kept);
}

void check_ways() {
    check_grid(
        around_barriers,
        [](unsigned int at, unsigned int t, unsigned int b) {
            const unsigned int next = (t + 1) % threads;
            return down_in(next, b) + next % 3 - (at + 1) + at + t % 3;
        },
        "around_barriers");
    check_grid(
        apart,
        [](unsigned int, unsigned int t, unsigned int b) {
            const unsigned int other = t ^ 1;
            unsigned int sum = 0;
            if (other % 3 == 0) sum = other + other / width / height;
            if (other % 3 == 1) sum = down_in(other, b) + other % 2;
            return sum + ping_of(1 + t % 2, false, t % width, t / width % height);
        },
        "threads_of_a_warp_on_different_ways");
    check_grid_barrier();
}

// ---- shared variables ---------------------------------------------------------------

extern __shared__ unsigned int dynamic[];

__device__ unsigned int* slot(unsigned int turns) {
    __shared__ unsigned int slots[threads];
    return turns == 0 ? &slots[rank_in_block()] : slot(turns - 1);
}
__device__ void fill(unsigned int turns) {
    __shared__ unsigned char few[3];
    if (turns > 0) return fill(turns - 1);
    few[rank_in_block() % 3] = 5;
    *slot(2) = few[rank_in_block() % 3] + threadIdx.x;
    dynamic[rank_in_block()] = threadIdx.y + 9;
}

/// The kernel's own variable comes after those of the functions.
__global__ void shared_of_functions(unsigned int* out) {
    __shared__ unsigned int own[threads];
    const unsigned int self = rank_in_block();
    own[self] = 1000000;
    fill(self % 4);
    __syncthreads();
    const unsigned int other = (self + 5) % threads;
    out[rank_in_grid()] = *slot(0) + own[other] + 100 * dynamic[other];
}

__device__ unsigned int counted(unsigned int turns) {
    __shared__ unsigned int counter;
    if (turns > 0) return counted(turns - 1);
    if (rank_in_block() == 0) counter = 0;
    return atomicAdd(&counter, 1);
}
/// Threads call it one after the other, starting with the first.
__global__ void atomic_of_function(unsigned int* out) {
    out[rank_in_grid()] = counted(3);
}

/// The kernel uses the variables only through function pointers.
__device__ unsigned int* slot_of_thread(unsigned int) {
    return slot(1);
}
using get_slot = unsigned int* (*)(unsigned int);
__device__ get_slot const slot_functions[] = {slot, slot_of_thread};
__global__ void shared_behind_pointers(unsigned int* out) {
    const unsigned int self = rank_in_block();
    *slot_functions[0](0) = self * 3;
    __syncthreads();
    out[rank_in_grid()] = *slot_functions[1](7);
}

/// Several cases branch to the same block.
__device__ unsigned int chosen_place(unsigned int turns, unsigned int* other, unsigned int which) {
    __shared__ unsigned int one[threads], some[2 * threads];
    if (turns > 0) return chosen_place(turns - 1, other, which);
    unsigned int* place = nullptr;
    switch (which) {
    case 1:
    case 5:
    case 77:
        place = one;
        break;
    case 3:
    case 100:
        place = some;
        break;
    case 4:
    case 200:
        place = some + threads;
        break;
    default:
        place = other;
    }
    const unsigned int self = rank_in_block();
    place[self] = which * threads + self;
    return place == other ? 7 : place[self];
}
__global__ void places_of_cases(unsigned int* out) {
    constexpr unsigned int cases[] = {1, 5, 77, 3, 100, 4, 200, 8};
    unsigned int* const here = out + rank_of_block() * threads;
    const unsigned int self = rank_in_block();
    const unsigned int found = chosen_place(2, here, cases[self % 8]);
    here[self] = found;
}

/// An out-of-line constructor with a barrier.
struct counting {
    unsigned int threads_below;
    __device__ counting(unsigned int limit);
};
__device__ counting::counting(unsigned int limit)
    : threads_below(__syncthreads_count(rank_in_block() < limit)) {}
__global__ void constructor(unsigned int* out) {
    const counting some(19);
    out[rank_in_grid()] = some.threads_below;
}

/// Calls no function with __shared__ variables.
__global__ void prints(int* out) {
    if (out != nullptr) printf("# %d\n", out[0]);
}

void check_shared() {
    check_grid(
        shared_of_functions,
        [](unsigned int, unsigned int t, unsigned int) {
            const unsigned int other = (t + 5) % threads;
            return 5 + t % width + 1000000 + 100 * (other / width % height + 9);
        },
        "shared_variables_of_functions", threads * sizeof(unsigned int));
    check_grid(
        atomic_of_function, [](unsigned int, unsigned int t, int) { return t; },
        "atomic_operations_of_functions");
    check_grid(
        shared_behind_pointers, [](unsigned int, unsigned int t, int) { return 3 * t; },
        "shared_variables_behind_pointers");
    check_grid(
        places_of_cases,
        [](unsigned int, unsigned int t, unsigned int) {
            constexpr unsigned int cases[] = {1, 5, 77, 3, 100, 4, 200, 8};
            return t % 8 == 7 ? 7 : cases[t % 8] * threads + t;
        },
        "cases_choose_shared_variables");
    check_grid(
        constructor, [](unsigned int, int, int) { return 19U; }, "a_constructor_that_waits");
    cudaFuncAttributes attributes = {};
    cudaFuncGetAttributes(&attributes, prints);
    check(attributes.sharedSizeBytes == 0, "other_kernels_have_no_shared_memory");
}

} // namespace

int main() {
    check_positions();
    check_ways();
    check_shared();
    return end_checks();
}
