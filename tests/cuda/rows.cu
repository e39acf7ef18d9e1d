// SPDX-License-Identifier: MIT
// Conditions at which hmmcc splits rows of threads, and loops that it runs in lockstep. Kernels
// must compute what the same code computes on the host, thread by thread.
#include "check.h"

#include <climits>
#include <cstdint>
#include <cstdio>

namespace {

/// A thread's position.
struct place {
    unsigned int x, y, z, rank, block;
};

__device__ place this_place() {
    return {threadIdx.x, threadIdx.y, threadIdx.z,
            threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), blockIdx.x};
}

/// Calls @code for each thread of a block of this size.
template <class Code>
void for_each_thread(dim3 block, unsigned int number_of_block, Code code) {
    unsigned int rank = 0;
    for (unsigned int z = 0; z < block.z; z++)
        for (unsigned int y = 0; y < block.y; y++)
            for (unsigned int x = 0; x < block.x; x++)
                code(place{x, y, z, rank++, number_of_block});
}

constexpr int most = 1024;     ///< threads per block
constexpr unsigned blocks = 3; ///< per grid

int *found, *wanted, *source;

void clear() {
    for (int i = 0; i < most * int(blocks); i++)
        found[i] = wanted[i] = -7;
}

bool agree() {
    return device_is_well() && same(found, wanted, most * blocks);
}

// ---- one condition -----------------------------------------------------------

enum class relation { less, less_or_equal, greater, greater_or_equal, equal, unequal };

template <relation R, class T>
__host__ __device__ bool holds(T a, T b) {
    switch (R) {
    case relation::less:
        return a < b;
    case relation::less_or_equal:
        return a <= b;
    case relation::greater:
        return a > b;
    case relation::greater_or_equal:
        return a >= b;
    case relation::equal:
        return a == b;
    default:
        return a != b;
    }
}

template <relation R, class T>
__host__ __device__ void one_condition(const place& at, T offset, T bound, int* out) {
    const T number = static_cast<T>(at.x) + offset;
    if (holds<R>(number, bound)) out[at.rank] = at.x + 1;
}

template <relation R, class T>
__global__ void condition_kernel(T offset, T bound, int* out) {
    one_condition<R>(this_place(), offset, bound, out);
}

/// With swapped operands, a barrier, and work for all threads.
template <relation R, class T>
__host__ __device__ int turned_condition(const place& at, T offset, T bound) {
    int result = at.x * 3;
    const T number = static_cast<T>(at.x) + offset;
    if (holds<R>(bound, number))
        result += 5;
    else
        result -= at.y;
    return result;
}

template <relation R, class T>
__global__ void turned_kernel(T offset, T bound, int* out) {
    __shared__ int part[most];
    const place at = this_place();
    part[at.rank] = turned_condition<R>(at, offset, bound);
    __syncthreads();
    out[at.rank] = part[at.rank];
}

/// Compares the thread's number in the grid.
template <relation R, class T>
__global__ void grid_kernel(T bound, int* out) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    const T number = static_cast<T>(i);
    if (holds<R>(number, bound)) out[i] = i + 1;
}

template <relation R, class T>
bool test_grid(T bound, unsigned threads) {
    clear();
    grid_kernel<R><<<blocks, threads>>>(bound, found);
    for (unsigned i = 0; i < blocks * threads; i++)
        if (holds<R>(static_cast<T>(i), bound)) wanted[i] = i + 1;
    return agree();
}

template <relation R, class T>
bool test_condition(T offset, T bound, dim3 block) {
    if (block.y == 1 && !test_grid<R>(bound, block.x)) return false;
    clear();
    condition_kernel<R><<<1, block>>>(offset, bound, found);
    for_each_thread(block, 0,
                    [&](const place& at) { one_condition<R>(at, offset, bound, wanted); });
    if (!agree()) return false;
    clear();
    turned_kernel<R><<<1, block>>>(offset, bound, found);
    for_each_thread(block, 0, [&](const place& at) {
        wanted[at.rank] = turned_condition<R>(at, offset, bound);
    });
    return agree();
}

template <class T>
bool test_conditions(T offset, T bound, dim3 block) {
    return test_condition<relation::less>(offset, bound, block) &&
           test_condition<relation::less_or_equal>(offset, bound, block) &&
           test_condition<relation::greater>(offset, bound, block) &&
           test_condition<relation::greater_or_equal>(offset, bound, block) &&
           test_condition<relation::equal>(offset, bound, block) &&
           test_condition<relation::unequal>(offset, bound, block);
}

template <class T>
void test_type(const char* name, T lowest, T highest) {
    const dim3 shapes[] = {dim3(1), dim3(33), dim3(100), dim3(256), dim3(7, 5, 3), dim3(32, 8)};
    bool good = true;
    for (const dim3& block : shapes)
        for (const int bound : {-40, -1, 0, 1, 6, 7, 31, 32, 99, 100, 255, 256, 2000})
            for (const int offset : {0, 5})
                good = good && test_conditions<T>(T(offset), T(bound), block);
    for (const T bound : {lowest, T(lowest + 1), T(highest - 1), highest}) {
        good = good && test_conditions<T>(T(0), bound, dim3(100));
        // numbers that start just above the lowest, and numbers that end at the highest
        good = good && test_conditions<T>(T(lowest + 2), bound, dim3(40));
        good = good && test_conditions<T>(T(highest - 39), bound, dim3(40));
    }
    check(good, name);
}

// ---- several conditions ------------------------------------------------------

__host__ __device__ int several(const place& at, int a, int b, int c) {
    const int x = at.x;
    const int y = at.y;
    if (x >= a || y >= b) return -1;
    int result = 1;
    if (x > 0 && x < a - 1) result += 10;
    if (x == c) result += 100;
    if (y != 0 && x < c) result += 1000;
    return x <= b ? result : result + 10000;
}

__global__ void several_kernel(int a, int b, int c, int* out) {
    const place at = this_place();
    const int result = several(at, a, b, c);
    if (result >= 0) out[at.rank] = result;
}

/// The same with a vote and a barrier, for which ended threads aren't waited for.
__global__ void several_with_barrier(int a, int b, int c, int* out) {
    __shared__ int part[most];
    const place at = this_place();
    const int result = several(at, a, b, c);
    if (result < 0) return;
    part[at.rank] = result;
    __syncthreads();
    out[at.rank] = part[at.rank];
}

__global__ void several_with_warps(int a, int b, int c, int* out) {
    const place at = this_place();
    const int result = several(at, a, b, c);
    const int lane = at.rank % 32;
    const int left = __shfl_sync(0xffffffff, result, lane == 0 ? 0 : lane - 1);
    out[at.rank] = lane == 0 ? result : left;
}

void test_several() {
    bool good = true;
    for (const dim3& block : {dim3(64), dim3(20, 6), dim3(32, 4, 2), dim3(5, 5)})
        for (const int a : {0, 1, 4, 19, 20, 64})
            for (const int b : {0, 2, 30})
                for (const int c : {-1, 0, 3, 18}) {
                    const auto expect = [&] {
                        clear();
                        for_each_thread(block, 0, [&](const place& at) {
                            const int result = several(at, a, b, c);
                            if (result >= 0) wanted[at.rank] = result;
                        });
                    };
                    expect();
                    several_kernel<<<1, block>>>(a, b, c, found);
                    good = good && agree();
                    expect();
                    several_with_barrier<<<1, block>>>(a, b, c, found);
                    good = good && agree();
                }
    check(good, "several_conditions_divide_rows");
    good = true;
    for (const dim3& block : {dim3(64), dim3(16, 6), dim3(24, 4)})
        for (const int a : {0, 4, 20, 64}) {
            clear();
            int all[most];
            for_each_thread(block, 0,
                            [&](const place& at) { all[at.rank] = several(at, a, 3, 5); });
            for_each_thread(block, 0, [&](const place& at) {
                wanted[at.rank] = all[at.rank % 32 == 0 ? at.rank : at.rank - 1];
            });
            several_with_warps<<<1, block>>>(a, 3, 5, found);
            good = good && agree();
        }
    check(good, "several_conditions_divide_rows_of_warps");
}

// ---- columns -----------------------------------------------------------------

constexpr int width = 300;

__host__ __device__ int column(const place& at, int n, int step, const int* in) {
    int sum = at.x;
    int product = 1;
    for (int k = 0; k < n; k += step) {
        sum += in[k * width + at.x];
        product = product * 3 + in[k * width + at.x + 1];
    }
    return sum * 7 + product;
}

__global__ void column_kernel(int threads, int n, int step, const int* in, int* out) {
    const place at = this_place();
    if (static_cast<int>(at.rank) >= threads) return;
    out[at.rank] = column(at, n, step, in);
}

/// Loops that accumulate in memory, one with skipped iterations and one nested.
__host__ __device__ void columns(const place& at, int n, const int* in, int* out) {
    out[at.rank] = 0;
    for (int k = 0; k < n; k++) {
        if (in[k * width + at.x] % 3 == 0) continue;
        out[at.rank] += in[k * width + at.x];
    }
    for (int k = 0; k < n - 1; k++)
        out[at.rank] ^= in[k * width + at.x];
    for (int k = n / 2; k <= n; k += 2)
        out[at.rank] += in[k * width + at.x] / 3;
    for (int outer = 0; outer < 3; outer++)
        for (int k = n; k > 0; k--)
            out[at.rank] += outer * in[k * width + at.x];
}

__global__ void columns_kernel(int n, const int* in, int* out) {
    columns(this_place(), n, in, out);
}

__global__ void columns_with_barrier(int n, const int* in, int* out) {
    __shared__ int part[most];
    const place at = this_place();
    part[at.rank] = column(at, n, 1, in);
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum += in[k * width + at.x] ^ part[at.rank];
    out[at.rank] = sum;
}

/// Leaves the loop early, or after a varying number of iterations.
__host__ __device__ int some_of_column(const place& at, int n, const int* in) {
    int sum = 0;
    for (int k = 0; k < n; k++) {
        sum += in[k * width + at.x];
        if (sum > 900) break;
    }
    for (int k = 0; k < static_cast<int>(at.x); k++)
        sum += in[k % 60 * width + at.x];
    return sum;
}

/// A variable follows the counter, but starts with another value.
__host__ __device__ int with_last(unsigned int x, int n, int last, int step, const int* in) {
    int sum = 0;
    for (int k = 0; k < n;) {
        sum = sum * 3 + in[k * width + x] + last;
        k += step;
        last = k;
    }
    return sum;
}
/// The first iteration is unconditional.
__host__ __device__ int with_first_round(unsigned int x, int n, int before, int step,
                                         const int* in) {
    int sum = 0;
    int k = 0;
    do {
        sum = sum * 5 + in[k * width + x] + before;
        before = k;
        k += step;
    } while (before < n);
    return sum;
}

__global__ void with_last_kernel(int n, int last, int step, const int* in, int* out) {
    out[threadIdx.x] = with_last(threadIdx.x, n, last, step, in);
}
__global__ void with_first_round_kernel(int n, int before, int step, const int* in, int* out) {
    out[threadIdx.x] = with_first_round(threadIdx.x, n, before, step, in);
}

void test_counters() {
    bool good = true;
    for (const int n : {0, 1, 3, 4, 5, 40})
        for (const int start : {7, 1000}) {
            clear();
            with_last_kernel<<<1, 64>>>(n, start, 1, source, found);
            for (unsigned x = 0; x < 64; x++)
                wanted[x] = with_last(x, n, start, 1, source);
            good = good && agree();
            clear();
            with_first_round_kernel<<<1, 64>>>(n, start, 1, source, found);
            for (unsigned x = 0; x < 64; x++)
                wanted[x] = with_first_round(x, n, start, 1, source);
            good = good && agree();
        }
    check(good, "loops_over_columns_can_have_several_counters");
}

__global__ void some_of_column_kernel(int n, const int* in, int* out) {
    const place at = this_place();
    out[at.rank] = some_of_column(at, n, in);
}

void test_columns() {
    const dim3 shapes[] = {dim3(1), dim3(31), dim3(64), dim3(256), dim3(16, 4), dim3(9, 3, 2)};
    bool good = true;
    for (const dim3& block : shapes)
        for (const int n : {-1, 0, 1, 2, 3, 4, 5, 7, 8, 35, 61}) {
            for (const int threads : {1, 17, most}) {
                clear();
                const int step = n % 2 == 0 ? 1 : 3;
                column_kernel<<<1, block>>>(threads, n, step, source, found);
                for_each_thread(block, 0, [&](const place& at) {
                    if (at.rank < unsigned(threads)) wanted[at.rank] = column(at, n, step, source);
                });
                good = good && agree();
            }
            clear();
            columns_kernel<<<1, block>>>(n, source, found);
            for_each_thread(block, 0, [&](const place& at) { columns(at, n, source, wanted); });
            good = good && agree();
        }
    check(good, "threads_go_through_columns");
    good = true;
    for (const dim3& block : shapes)
        for (const int n : {0, 1, 6, 40}) {
            clear();
            columns_with_barrier<<<1, block>>>(n, source, found);
            for_each_thread(block, 0, [&](const place& at) {
                const int part = column(at, n, 1, source);
                wanted[at.rank] = 0;
                for (int k = 0; k < n; k++)
                    wanted[at.rank] += source[k * width + at.x] ^ part;
            });
            good = good && agree();
            clear();
            some_of_column_kernel<<<1, block>>>(n, source, found);
            for_each_thread(block, 0, [&](const place& at) {
                wanted[at.rank] = some_of_column(at, n, source);
            });
            good = good && agree();
        }
    check(good, "loops_over_columns_can_have_barriers_and_ends");
}

/// A value must be the same before and after a barrier.
__global__ void rounded_values(float a, float c, float* found, float* wanted, int* same) {
    const float product = threadIdx.x * a;
    const float sum = product + c;
    found[threadIdx.x] = product;
    wanted[threadIdx.x] = sum;
    __syncthreads();
    same[threadIdx.x] = wanted[threadIdx.x] == sum;
}

void test_rounding() {
    float *const products = managed<float>(most), *const sums = managed<float>(most);
    bool good = true;
    for (const float a : {0.1f, 0.7f, 1.3f}) {
        clear();
        rounded_values<<<1, 256>>>(a, -1.1f, products, sums, found);
        for (int i = 0; i < 256; i++)
            wanted[i] = 1;
        good = good && agree();
    }
    check(good, "a_value_is_rounded_in_one_way");
    cudaFree(products), cudaFree(sums);
}

// ---- turns -------------------------------------------------------------------

template <class T>
__host__ __device__ int turns(T start, T n, T step, int* out) {
    int rounds = 0;
    for (T i = start; i < n; i += step) {
        rounds++;
        out[i] += i + rounds;
    }
    return rounds;
}

template <class T>
__global__ void turns_kernel(T first, T n, int* out, int* rounds) {
    const T start = first + blockIdx.x * blockDim.x + threadIdx.x;
    rounds[blockIdx.x * blockDim.x + threadIdx.x] = turns<T>(start, n, gridDim.x * blockDim.x, out);
}

/// Loop variables that start below 0, signed and unsigned.
template <class T>
__host__ __device__ int early_turns(unsigned int thread, T before, T n, T step, int* out) {
    int rounds = 0;
    for (T i = static_cast<T>(thread) - before; i < n; i += step) {
        rounds++;
        if (i >= 0) out[i] += 1;
    }
    for (unsigned int i = thread - 1; i < 100; i += static_cast<unsigned int>(step))
        rounds += 100 + i;
    for (int i = static_cast<int>(thread) + 1; i < 50; i += step)
        rounds += 1000 * i;
    return rounds;
}

/// In threads below 5, the loop variable starts at the top of the range.
__host__ __device__ int unsigned_turns(unsigned int thread, std::size_t n, unsigned int step) {
    int rounds = 0;
    for (std::size_t i = static_cast<int>(thread) - 5; i < n; i += step)
        rounds += static_cast<int>(i);
    return rounds;
}
/// Thread 0's counter would overflow, but thread 0 doesn't reach the loop.
__host__ __device__ int late_turns(unsigned int thread, int first) {
    int rounds = 0;
    if (thread < 10) return -1;
    for (int i = first + static_cast<int>(thread); i < first + 5; i += (1 << 30) + 1)
        rounds++;
    return rounds;
}

__global__ void unsigned_turns_kernel(std::size_t n, int* out) {
    out[threadIdx.x] = unsigned_turns(threadIdx.x, n, blockDim.x);
}
__global__ void late_turns_kernel(int first, int* out) {
    out[threadIdx.x] = late_turns(threadIdx.x, first);
}

void test_turns_at_the_ends() {
    clear();
    unsigned_turns_kernel<<<1, 64>>>(500, found);
    for (unsigned i = 0; i < 64; i++)
        wanted[i] = unsigned_turns(i, 500, 64);
    bool good = agree();
    clear();
    late_turns_kernel<<<1, 64>>>(INT_MAX - 70, found);
    for (unsigned i = 0; i < 64; i++)
        wanted[i] = late_turns(i, INT_MAX - 70);
    check(good && agree(), "turns_can_begin_at_the_ends_of_all_numbers");
}

template <class T>
__global__ void early_turns_kernel(T before, T n, int* out, int* rounds) {
    rounds[threadIdx.x] = early_turns<T>(threadIdx.x, before, n, blockDim.x, out);
}

template <class T>
bool test_early_turns(T before, T n, unsigned threads) {
    clear();
    int* const rounds = managed<int>(most);
    int wanted_rounds[most] = {};
    for (int i = 0; i < most * int(blocks); i++)
        found[i] = wanted[i] = 0;
    early_turns_kernel<T><<<1, threads>>>(before, n, found, rounds);
    for (unsigned i = 0; i < threads; i++)
        wanted_rounds[i] = early_turns<T>(i, before, n, T(threads), wanted);
    const bool good = agree() && same(rounds, wanted_rounds, threads);
    cudaFree(rounds);
    return good;
}

/// Each row of a block has its own strided loop.
__global__ void turns_of_rows(int n, int* out, int* rounds) {
    const place at = this_place();
    int count = 0;
    for (int i = at.x; i <= n; i += blockDim.x) {
        if (i % 5 == 2) continue;
        out[at.y * 100 + i] += at.y + 1;
        count++;
    }
    rounds[at.rank] = count;
}

template <class T>
bool test_turns(T first, T n, unsigned threads) {
    int *out = managed<int>(2048), *rounds = managed<int>(most * blocks);
    static int wanted_out[2048], wanted_rounds[most * blocks];
    for (int& each : wanted_out)
        each = 0;
    turns_kernel<T><<<blocks, threads>>>(first, n, out, rounds);
    for (unsigned i = 0; i < blocks * threads; i++)
        wanted_rounds[i] = turns<T>(first + T(i), n, T(blocks * threads), wanted_out);
    const bool good = device_is_well() && same(out, wanted_out, 2048) &&
                      same(rounds, wanted_rounds, blocks * threads);
    cudaFree(out);
    cudaFree(rounds);
    return good;
}

void test_all_turns() {
    bool good = true;
    for (const unsigned threads : {1u, 20u, 64u, 256u})
        for (const int n : {0, 1, 2, 19, 20, 21, 191, 192, 193, 767, 768, 769, 2048})
            for (const int first : {0, 3}) {
                good = good && test_turns<int>(first, n, threads);
                good = good && test_turns<unsigned int>(first, n, threads);
                good = good && test_turns<std::int64_t>(first, n, threads);
                good = good && test_turns<std::uint64_t>(first, n, threads);
            }
    good = good && test_turns<int>(0, -5, 64) && test_turns<std::int64_t>(0, -5, 64);
    check(good, "threads_take_turns");
    good = true;
    for (const unsigned threads : {8u, 64u, 100u})
        for (const int before : {0, 1, 5, 70, 1000})
            for (const int n : {-900, -1, 0, 1, 40, 63, 64, 65, 500}) {
                good = good && test_early_turns<int>(before, n, threads);
                good = good && test_early_turns<std::int64_t>(before, n, threads);
            }
    check(good, "turns_begin_in_front_of_0");
    good = true;
    for (const dim3& block : {dim3(8, 4), dim3(33, 3), dim3(64)})
        for (const int n : {-1, 0, 5, 32, 99}) {
            int *out = managed<int>(1000), *rounds = managed<int>(most);
            int wanted_out[1000] = {}, wanted_rounds[most] = {};
            turns_of_rows<<<1, block>>>(n, out, rounds);
            for_each_thread(block, 0, [&](const place& at) {
                for (int i = at.x; i <= n; i += block.x) {
                    if (i % 5 == 2) continue;
                    wanted_out[at.y * 100 + i] += at.y + 1;
                    wanted_rounds[at.rank]++;
                }
            });
            good = good && device_is_well() && same(out, wanted_out, 1000) &&
                   same(rounds, wanted_rounds, block.x * block.y);
            cudaFree(out);
            cudaFree(rounds);
        }
    check(good, "rows_take_turns");
}

} // namespace

int main() {
    found = managed<int>(most * blocks);
    wanted = managed<int>(most * blocks);
    source = managed<int>(70 * width + 2 * most);
    for (int i = 0; i < 70 * width + 2 * most; i++)
        source[i] = static_cast<int>((i * 2654435761u) >> 25);
    test_type<int>("a_condition_of_int_divides_rows", INT_MIN, INT_MAX);
    test_type<unsigned int>("a_condition_of_unsigned_divides_rows", 0, UINT_MAX);
    test_type<std::int64_t>("a_condition_of_int64_divides_rows", INT64_MIN, INT64_MAX);
    test_type<std::uint64_t>("a_condition_of_uint64_divides_rows", 0, UINT64_MAX);
    test_type<std::int16_t>("a_condition_of_int16_divides_rows", INT16_MIN, INT16_MAX);
    test_several();
    test_columns();
    test_counters();
    test_all_turns();
    test_turns_at_the_ends();
    test_rounding();
    return end_checks();
}
