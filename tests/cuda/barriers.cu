// SPDX-License-Identifier: MIT
// Block barriers, __shared__ memory, and values that live across barriers.
#include "check.h"

#include <vector>

namespace {

constexpr int most = 1024;

__global__ void reverse(int* data) {
    __shared__ int copy[most];
    copy[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = copy[blockDim.x - 1 - threadIdx.x];
}

void test_reverse(int threads, const char* name) {
    int* data = managed<int>(most);
    std::vector<int> wanted(most);
    for (int i = 0; i < threads; i++) {
        data[i] = 3 * i;
        wanted[threads - 1 - i] = 3 * i;
    }
    reverse<<<1, threads>>>(data);
    check(device_is_well() && same(data, wanted.data(), threads), name);
    cudaFree(data);
}

template <int Tile>
__global__ void multiply(const int* a, const int* b, int* c, int n) {
    __shared__ int from_a[Tile][Tile], from_b[Tile][Tile];
    const int x = blockIdx.x * Tile + threadIdx.x, y = blockIdx.y * Tile + threadIdx.y;
    int sum = 0;
    for (int k = 0; k < n; k += Tile) {
        from_a[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        from_b[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int i = 0; i < Tile; i++)
            sum += from_a[threadIdx.y][i] * from_b[i][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}

void test_multiply() {
    constexpr int n = 48;
    int *a = managed<int>(n * n), *b = managed<int>(n * n), *c = managed<int>(n * n);
    std::vector<int> wanted(n * n);
    for (int i = 0; i < n * n; i++) {
        a[i] = i % 7 - 3;
        b[i] = i % 11 - 5;
    }
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++)
            for (int k = 0; k < n; k++)
                wanted[y * n + x] += a[y * n + k] * b[k * n + x];
    multiply<16><<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, c, n);
    check(device_is_well() && same(c, wanted.data(), n * n), "matrices_are_multiplied_in_tiles");
}

__global__ void sum_as_tree(const int* in, int* out, int n) {
    extern __shared__ int part[];
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

void test_tree() {
    constexpr int n = 1000, threads = 128, blocks = (n + threads - 1) / threads;
    int *in = managed<int>(n), *out = managed<int>(blocks);
    std::vector<int> wanted(blocks);
    for (int i = 0; i < n; i++) {
        in[i] = i * i % 101;
        wanted[i / threads] += in[i];
    }
    sum_as_tree<<<blocks, threads, threads * sizeof(int)>>>(in, out, n);
    check(device_is_well() && same(out, wanted.data(), blocks), "a_tree_sums_in_dynamic_memory");
}

__global__ void leave_early(int* out, int n) {
    __shared__ int copy[64];
    const int i = threadIdx.x;
    if (i >= n) return;
    copy[i] = i + 7;
    __syncthreads();
    out[i] = copy[n - 1 - i];
    __syncthreads();
    if (i == 1) return;
    out[i] += 100;
}

void test_early() {
    int* out = managed<int>(64);
    std::vector<int> wanted(64);
    for (int i = 0; i < 50; i++)
        wanted[i] = 49 - i + 7 + (i == 1 ? 0 : 100);
    leave_early<<<1, 64>>>(out, 50);
    check(device_is_well() && same(out, wanted.data(), 64),
          "threads_that_have_ended_are_not_waited_for");
}

__global__ void branch_for_all(int* out, int way) {
    __shared__ int sum;
    int mine = threadIdx.x;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    if (way > 0) {
        atomicAdd(&sum, mine);
        __syncthreads();
        mine += sum;
    } else if (sum == 0) { // uniform
        __syncthreads();
        atomicAdd(&sum, 1);
        __syncthreads();
        mine -= sum;
    }
    out[threadIdx.x] = mine;
}

void test_branches() {
    int* out = managed<int>(96);
    for (const int way : {1, 0}) {
        std::vector<int> wanted(96);
        for (int i = 0; i < 96; i++)
            wanted[i] = way > 0 ? i + 95 * 96 / 2 : i - 96;
        branch_for_all<<<1, 96>>>(out, way);
        check(device_is_well() && same(out, wanted.data(), 96),
              way > 0 ? "a_barrier_in_a_branch_by_an_argument"
                      : "a_barrier_in_a_branch_by_shared_memory");
    }
}

__global__ void count_conditions(int* out) {
    const int i = threadIdx.x;
    const int third = __syncthreads_count(i % 3 == 0);
    const int all = __syncthreads_and(i < 100), not_all = __syncthreads_and(i < 99);
    const int any = __syncthreads_or(i == 42), none = __syncthreads_or(i == 1000);
    out[i] = third * 10000 + all * 1000 + not_all * 100 + any * 10 + none;
}

void test_counts() {
    int* out = managed<int>(100);
    std::vector<int> wanted(100, 34 * 10000 + 1000 + 10);
    count_conditions<<<1, 100>>>(out);
    check(device_is_well() && same(out, wanted.data(), 100), "barriers_count_conditions");
}

struct pair {
    int first[3];
    int second;
};

__device__ int exchange_with_next(int value) {
    static __shared__ int slot[most];
    slot[threadIdx.x] = value;
    __syncthreads();
    const int next = slot[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
    return next;
}

__global__ void keep_values(int* out, pair given, int rounds) {
    int own[5];
    for (int i = 0; i < 5; i++)
        own[i] = threadIdx.x * 10 + i;
    given.second += threadIdx.x;
    for (int round = 0; round < rounds; round++) {
        own[(round + threadIdx.x) % 5] += exchange_with_next(own[round % 5]);
        given.first[round % 3] += round;
    }
    int sum = given.first[0] + given.first[1] + given.first[2] + given.second;
    for (int i = 0; i < 5; i++)
        sum = sum * 3 + own[i];
    out[threadIdx.x] = sum;
}

void test_kept() {
    constexpr int threads = 37, rounds = 7;
    int* out = managed<int>(threads);
    std::vector<int> wanted(threads);
    int own[threads][5];
    for (int t = 0; t < threads; t++)
        for (int i = 0; i < 5; i++)
            own[t][i] = t * 10 + i;
    for (int round = 0; round < rounds; round++) {
        int given[threads];
        for (int t = 0; t < threads; t++)
            given[t] = own[t][round % 5];
        for (int t = 0; t < threads; t++)
            own[t][(round + t) % 5] += given[(t + 1) % threads];
    }
    for (int t = 0; t < threads; t++) {
        int sum = 1 + 2 + 3 + rounds * (rounds - 1) / 2 + 4 + t;
        for (int i = 0; i < 5; i++)
            sum = sum * 3 + own[t][i];
        wanted[t] = sum;
    }
    keep_values<<<1, threads>>>(out, pair{{1, 2, 3}, 4}, rounds);
    check(device_is_well() && same(out, wanted.data(), threads),
          "threads_keep_arrays_and_parameters_across_barriers");
}

__global__ void own_loops(int* out) {
    __shared__ int sum[2];
    if (threadIdx.x < 2) sum[threadIdx.x] = 0;
    __syncthreads();
    int steps = 0;
    for (int n = threadIdx.x + 1; n != 1; n = n % 2 == 0 ? n / 2 : 3 * n + 1)
        steps++;
    atomicAdd(&sum[threadIdx.x % 2], steps);
    __syncthreads();
    out[threadIdx.x] = steps * 100000 + sum[threadIdx.x % 2];
}

void test_loops() {
    constexpr int threads = 77;
    int* out = managed<int>(threads);
    std::vector<int> wanted(threads);
    int sum[2] = {0, 0};
    for (int t = 0; t < threads; t++) {
        for (int n = t + 1; n != 1; n = n % 2 == 0 ? n / 2 : 3 * n + 1)
            wanted[t]++;
        sum[t % 2] += wanted[t];
    }
    for (int t = 0; t < threads; t++)
        wanted[t] = wanted[t] * 100000 + sum[t % 2];
    own_loops<<<1, threads>>>(out);
    check(device_is_well() && same(out, wanted.data(), threads),
          "threads_loop_as_often_as_they_want_between_barriers");
}

__global__ void places(int* out) {
    const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    __syncthreads();
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
        threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * blockIdx.x +
        10000 * blockIdx.y + 100000 * blockIdx.z;
}

void test_places() {
    const dim3 grid(2, 3, 2), block(5, 3, 4);
    const int threads = 5 * 3 * 4, blocks = 12;
    int* out = managed<int>(threads * blocks);
    std::vector<int> wanted;
    for (int b = 0; b < blocks; b++)
        for (int t = 0; t < threads; t++)
            wanted.push_back(t % 5 + 10 * (t / 5 % 3) + 100 * (t / 15) + 1000 * (b % 2) +
                             10000 * (b / 2 % 3) + 100000 * (b / 6));
    places<<<grid, block>>>(out);
    check(device_is_well() && same(out, wanted.data(), threads * blocks),
          "threads_and_blocks_have_three_dimensions");
}

/// A grid-stride loop, and a reduction over the block.
__global__ void take_turns(int* data, int* sums, int n) {
    __shared__ int part[128];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (data[i] % 5 == 0) continue;
        if (data[i] == 77) break;
        data[i] += 1;
        sum += data[i];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

/// Two block-stride loops, one of them nested.
__global__ void take_turns_twice(int* data, int n) {
    for (unsigned int i = threadIdx.x; i < n; i += blockDim.x)
        data[i] += 2 * i;
    if (threadIdx.x == 3) return;
    for (int round = 0; round < 3; round++)
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            data[i] = data[i] * 3 + round;
}

/// Two block-stride loops with uniform code between them.
__global__ void take_turns_behind_turns(int* data, const int* limit, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (threadIdx.x < 10) break;
        data[i] += 1;
    }
    const int end = limit[0];
    for (int i = threadIdx.x; i < end; i += blockDim.x)
        data[i] *= 3;
}

void test_turns() {
    constexpr int n = 1000, threads = 128, blocks = 3;
    int *data = managed<int>(n), *sums = managed<int>(blocks);
    std::vector<int> wanted(n), wanted_sums(blocks);
    for (int i = 0; i < n; i++)
        data[i] = wanted[i] = i * 7 % 1001;
    for (int t = 0; t < threads * blocks; t++)
        for (int i = t; i < n; i += threads * blocks) {
            if (wanted[i] % 5 == 0) continue;
            if (wanted[i] == 77) break;
            wanted_sums[t / threads] += ++wanted[i];
        }
    take_turns<<<blocks, threads>>>(data, sums, n);
    check(device_is_well() && same(data, wanted.data(), n) &&
              same(sums, wanted_sums.data(), blocks),
          "threads_take_turns_and_leave_at_different_times");
    int* limit = managed<int>(1);
    *limit = 900;
    for (int i = 0; i < n; i++)
        wanted[i] = (data[i] + (i % 50 < 10 ? 0 : 1)) * (i < 900 ? 3 : 1);
    take_turns_behind_turns<<<1, 50>>>(data, limit, n);
    check(device_is_well() && same(data, wanted.data(), n),
          "threads_that_leave_a_loop_keep_what_is_the_same_for_all");
    for (int i = 0; i < n; i++) {
        wanted[i] += 2 * i;
        for (int round = 0; round < 3 && i % 50 != 3; round++)
            wanted[i] = wanted[i] * 3 + round;
    }
    take_turns_twice<<<1, 50>>>(data, n);
    check(device_is_well() && same(data, wanted.data(), n), "loops_with_turns_nest");
}

/// The last thread of each warp ends before the others count.
__global__ void last_threads_end(int* data, int rounds) {
    if (threadIdx.x % 32 == 31) return;
    int counted = 0;
    for (int round = 0; round < rounds; round++)
        if (round < 3) {
            __syncthreads();
            counted++;
        }
    data[threadIdx.x] = counted;
}

void test_last_threads() {
    constexpr int threads = 96;
    int* data = managed<int>(threads);
    std::vector<int> wanted(threads);
    for (int i = 0; i < threads; i++)
        wanted[i] = i % 32 == 31 ? 0 : 3;
    last_threads_end<<<1, threads>>>(data, 5);
    check(device_is_well() && same(data, wanted.data(), threads),
          "threads_that_end_last_leave_what_is_the_same_for_the_others");
}

__device__ unsigned int blocks_done;

__global__ void last_block(int* parts, int* result) {
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = blockIdx.x + 1;
        __threadfence();
        is_last = atomicInc(&blocks_done, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0)
        for (unsigned int i = 0; i < gridDim.x; i++)
            *result += parts[i];
}

void test_last_block() {
    int *parts = managed<int>(40), *result = managed<int>(1);
    const int wanted = 40 * 41 / 2;
    last_block<<<40, 32>>>(parts, result);
    check(device_is_well() && same(result, &wanted, 1), "the_last_block_sees_the_others");
}

} // namespace

int main() {
    test_reverse(1, "one_thread_passes_a_barrier");
    test_reverse(33, "33_threads_exchange_values");
    test_reverse(most, "1024_threads_exchange_values");
    test_multiply();
    test_tree();
    test_early();
    test_branches();
    test_counts();
    test_kept();
    test_loops();
    test_places();
    test_turns();
    test_last_threads();
    test_last_block();
    return end_checks();
}
