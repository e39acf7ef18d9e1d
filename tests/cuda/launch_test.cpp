// SPDX-License-Identifier: MIT
// Functions that hmmcc's object files call, with kernels in the form that its passes produce.
#include "block_memory.hpp"
#include "capability.hpp"
#include "device_code.hpp"
#include "registry.hpp"
#include "required_processor.hpp"

#include "cuda/cuda_runtime_api.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <new>
#include <set>
#include <vector>

extern "C" {
void __cudaRegisterFunction(void**, const char* function, char* code, const char* name, int, void*,
                            void*, void*, void*, int*);
void __cudaRegisterVar(void**, char* variable, char*, const char* name, int, std::size_t bytes, int,
                       int managed);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, void* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream);
std::uint32_t __hmm_resolve_group(hmmcuda::block_run* run, std::uint32_t first, std::uint32_t last);
std::uint32_t __hmm_resolve_block(hmmcuda::block_run* run, std::uint32_t group_size);
}

namespace {

constinit thread_local bool no_memory = false;

} // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
    void* const memory = no_memory ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return std::malloc(bytes == 0 ? 1 : bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace hmmcuda {
namespace {

/// Arguments: an array of ints, and a number. Writes an element for each block.
void write_block_numbers(block_run* run) {
    int* numbers = nullptr;
    int add = 0;
    std::memcpy(&numbers, run->arguments, sizeof(numbers));
    std::memcpy(&add, run->arguments + sizeof(numbers), sizeof(add));
    std::memset(run->shared, 1, run->dynamic_shared);
    const std::uint32_t block = run->index[0] + run->grid[0] * run->index[1];
    numbers[block] = add + static_cast<int>(block * run->threads);
}

constexpr parameter parameters[] = {{0, sizeof(int*)}, {sizeof(int*), sizeof(int)}};
constexpr kernel_code code = {write_block_numbers,        "kernel", parameters, nullptr, 2,
                              sizeof(int*) + sizeof(int), 0,        0,          0,       2};
constexpr char program_function = 0; ///< the program knows the kernel by its address

void register_kernel(const char& function, const kernel_code& kernel) {
    __cudaRegisterFunction(nullptr, &function,
                           reinterpret_cast<char*>(const_cast<kernel_code*>(&kernel)), "kernel", -1,
                           nullptr, nullptr, nullptr, nullptr, nullptr);
    ASSERT_EQ(find_kernel(&function), &kernel);
}

TEST(launch, blocks_get_their_place_and_a_copy_of_the_arguments) {
    register_kernel(program_function, code);
    std::vector<int> numbers(6);
    int* pointer = numbers.data();
    int add = 100;
    void* arguments[] = {&pointer, &add};
    ASSERT_EQ(cudaLaunchKernel(&program_function, dim3(3, 2), dim3(5, 2), arguments, 64, nullptr),
              cudaSuccess);
    pointer = nullptr;
    add = 0;
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(numbers, (std::vector<int>{100, 110, 120, 130, 140, 150}));
}

TEST(launch, a_limit_of_shared_memory_that_finds_no_memory_is_an_error) {
    static constexpr char function = 0;
    static constexpr kernel_code limited = code;
    __cudaRegisterFunction(nullptr, &function,
                           reinterpret_cast<char*>(const_cast<kernel_code*>(&limited)), "kernel",
                           -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    const auto set = [] {
        return cudaFuncSetAttribute(&function, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000);
    };
    const std::size_t before = dynamic_limit(limited);
    no_memory = true;
    const cudaError_t error = set();
    no_memory = false;
    EXPECT_EQ(error, cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
    EXPECT_EQ(dynamic_limit(limited), before);
    EXPECT_EQ(set(), cudaSuccess);
    EXPECT_EQ(dynamic_limit(limited), 1000U);
}

/// Argument: an array of ints. Each block writes its number, and then the sum of all numbers.
void sum_of_grid(block_run* run) {
    int* numbers = nullptr;
    std::memcpy(&numbers, run->arguments, sizeof(numbers));
    int& sum = *reinterpret_cast<int*>(run->shared);
    switch (run->waits_at) {
    case state_end:
        numbers[run->index[1]] = static_cast<int>(run->index[1] + run->cooperative);
        run->waits_at = 2;
        return;
    case 2:
        sum = 0;
        for (std::uint32_t i = 0; i < run->grid[1]; i++)
            sum += numbers[i];
        run->waits_at = 3;
        return;
    default:
        numbers[run->index[1]] = sum;
        run->waits_at = state_end;
    }
}

constexpr sync_point waits[] = {{sync_kind::start, 0, ""},
                                {sync_kind::start, 0, ""},
                                {sync_kind::grid_barrier, 20, "file.cu"},
                                {sync_kind::grid_barrier, 30, "file.cu"}};
constexpr kernel_code waiting = {sum_of_grid,  "_Z3sumPi", parameters, waits, 1,
                                 sizeof(int*), 64,         0,          0,     4};
constexpr char waiting_function = 0;

class cooperative_launch : public testing::Test {
  protected:
    cooperative_launch() {
        register_kernel(waiting_function, waiting);
        EXPECT_EQ(cudaDeviceGetAttribute(&lanes_, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
    }
    cudaError_t launch(int blocks, std::vector<int>& numbers) {
        int* pointer = numbers.data();
        void* arguments[] = {&pointer};
        return cudaLaunchCooperativeKernel(&waiting_function,
                                           dim3(1, static_cast<unsigned int>(blocks)), dim3(1),
                                           arguments, 0, nullptr);
    }

    int lanes_ = 0;
};

TEST_F(cooperative_launch, blocks_go_on_when_all_have_come) {
    for (int blocks = 1; blocks <= lanes_; blocks++) {
        std::vector<int> numbers(static_cast<std::size_t>(blocks));
        ASSERT_EQ(launch(blocks, numbers), cudaSuccess);
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        EXPECT_EQ(numbers, std::vector<int>(numbers.size(), blocks * (blocks + 1) / 2));
    }
}

TEST_F(cooperative_launch, a_block_that_finds_no_lane_is_refused) {
    std::vector<int> numbers(static_cast<std::size_t>(lanes_) + 1);
    EXPECT_EQ(launch(lanes_ + 1, numbers), cudaErrorCooperativeLaunchTooLarge);
    EXPECT_EQ(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(numbers, std::vector<int>(numbers.size(), 0));
}

TEST_F(cooperative_launch, the_area_is_given_back) {
    std::vector<int> numbers(static_cast<std::size_t>(lanes_));
    for (std::uint32_t i = 0; i <= block_memory::areas; i++)
        ASSERT_EQ(launch(lanes_, numbers), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(cooperative_launch, another_launch_ends_at_the_barrier) {
    NEEDS_FAILURES();
    std::vector<int> numbers(1);
    int* pointer = numbers.data();
    void* arguments[] = {&pointer};
    ASSERT_EQ(cudaLaunchKernel(&waiting_function, dim3(1), dim3(1), arguments, 0, nullptr),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorAssert);
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaErrorAssert);
    EXPECT_EQ(numbers[0], 0);
}

TEST(launch, an_unknown_function_is_refused_and_remembered) {
    static const char unknown = 0;
    EXPECT_EQ(cudaLaunchKernel(&unknown, dim3(1), dim3(1), nullptr, 0, nullptr),
              cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(registry, a_variable_without_bytes_is_left_out) {
    char name[] = "empty", variable = 0;
    __cudaRegisterVar(nullptr, &variable, name, name, 0, 0, 0, 0);
    EXPECT_EQ(hmmPeekAtLastError(), hmmSuccess);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(configuration, launches_in_arguments_of_launches_nest) {
    dim3 grid, block;
    std::size_t shared = 0;
    void* stream = nullptr;
    EXPECT_EQ(__cudaPushCallConfiguration(dim3(1), dim3(2), 3, nullptr), 0U);
    EXPECT_EQ(__cudaPushCallConfiguration(dim3(4), dim3(5), 6, &grid), 0U);
    EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaSuccess);
    EXPECT_EQ(std::vector<std::size_t>({grid.x, block.x, shared}),
              std::vector<std::size_t>({4, 5, 6}));
    EXPECT_EQ(stream, &grid);
    EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaSuccess);
    EXPECT_EQ(std::vector<std::size_t>({grid.x, block.x, shared}),
              std::vector<std::size_t>({1, 2, 3}));
    EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &stream),
              cudaErrorMissingConfiguration);
    EXPECT_EQ(cudaGetLastError(), cudaErrorMissingConfiguration);
}

TEST(memory, areas_are_apart_until_they_are_given_back) {
    block_memory* const pool = block_memory::of_size(20000);
    ASSERT_NE(pool, nullptr);
    EXPECT_EQ(block_memory::of_size(30000), pool);
    EXPECT_NE(block_memory::of_size(40000), pool);
    std::set<std::byte*> areas;
    for (std::uint32_t i = 0; i < block_memory::areas; i++) {
        std::byte* const area = pool->take();
        ASSERT_NE(area, nullptr);
        std::memset(area, static_cast<int>(i), 20000);
        areas.insert(area);
    }
    EXPECT_EQ(areas.size(), block_memory::areas);
    EXPECT_EQ(pool->take(), nullptr);
    std::byte* const one = *areas.rbegin();
    pool->give(one);
    EXPECT_EQ(pool->take(), one);
    for (std::byte* const area : areas)
        pool->give(area);
    EXPECT_EQ(block_memory::of_size(block_memory::largest + 1), nullptr);
}

TEST(processor, a_level_has_the_features_of_those_below) {
    EXPECT_EQ(missing_feature("x86-64"), nullptr);
    EXPECT_EQ(missing_feature("native"), nullptr);
    if (missing_feature("x86-64-v3") != nullptr) {
        EXPECT_NE(missing_feature("x86-64-v4"), nullptr);
    }
    if (__builtin_cpu_supports("avx512vl") == 0)
        EXPECT_NE(missing_feature("x86-64-v4"), nullptr);
    else
        EXPECT_EQ(missing_feature("x86-64-v2"), nullptr);
}

/// Two warps of a kernel with a shuffle (state 2), a block barrier (3), __activemask (4), and a
/// loop that threads run in lockstep (5).
class resolving : public testing::Test {
  protected:
    static constexpr std::uint32_t exchange = 2, barrier = 3, active = 4, round = 5;
    static constexpr sync_point sync_points[] = {{sync_kind::start, 0, ""},
                                                 {sync_kind::start, 0, ""},
                                                 {sync_kind::warp_exchange, 20, "file.cu"},
                                                 {sync_kind::block_barrier, 30, "file.cu"},
                                                 {sync_kind::warp_active, 40, "file.cu"},
                                                 {sync_kind::lockstep, 50, "file.cu"}};
    static constexpr kernel_code kernel = {
        nullptr, "_Z6kernelv", nullptr, sync_points, 0, 0, 0, 0, 0, 6};

    resolving() {
        run_.kernel = &kernel;
        run_.block[0] = 8;
        run_.block[1] = 4;
        run_.block[2] = 2;
        run_.threads = 64;
        run_.thread_states = states_.data();
        run_.group_states = groups_.data();
        run_.given_place = reinterpret_cast<char*>(&run_.exchanged[0].wide[warp_size]);
        run_.taken_place = reinterpret_cast<char*>(&run_.exchanged[1].wide[warp_size]);
    }
    void set(std::uint32_t first, std::uint32_t last, std::uint32_t state) {
        for (std::uint32_t thread = first; thread < last; thread++)
            states_[thread] = state;
    }
    void give(std::uint32_t lane, std::uint64_t value, std::uint32_t mask) {
        run_.exchanged[0].wide[warp_size + lane] = value;
        run_.mask[lane] = mask;
    }
    /// The value that other lanes can load from this one.
    std::uint64_t taken_from(std::uint32_t lane) const {
        return run_.exchanged[1].wide[warp_size + lane];
    }

    block_run run_ = {};
    std::array<std::uint32_t, 64> states_ = {};
    std::array<std::uint32_t, 2> groups_ = {};
};

TEST_F(resolving, lanes_of_a_mask_go_on_when_all_have_come) {
    set(0, 4, exchange);
    set(4, 32, barrier);
    for (std::uint32_t lane = 0; lane < 4; lane++)
        give(lane, lane * 10 + 1, lane < 2 ? 0x3 : 0x1c); // lane 4 doesn't arrive
    EXPECT_EQ(__hmm_resolve_group(&run_, 0, 32), exchange | state_ready);
    EXPECT_EQ(states_[0], exchange | state_ready);
    EXPECT_EQ(states_[2], exchange);
    EXPECT_EQ(taken_from(0), 1U);
    EXPECT_EQ(taken_from(1), 11U);
    EXPECT_EQ(taken_from(2), 0U);
}

TEST_F(resolving, lanes_that_have_ended_are_not_waited_for) {
    set(0, 1, exchange);
    set(1, 32, state_end);
    give(0, 5, ~0U);
    EXPECT_EQ(__hmm_resolve_group(&run_, 0, 32), exchange | state_ready);
    EXPECT_EQ(taken_from(0), 5U);
    set(0, 1, state_end);
    EXPECT_EQ(__hmm_resolve_group(&run_, 0, 32), state_end);
}

TEST_F(resolving, a_warp_at_one_place_goes_on_together) {
    set(32, 64, exchange);
    for (std::uint32_t lane = 0; lane < 32; lane++)
        give(lane, 31 - lane, ~0U);
    EXPECT_EQ(__hmm_resolve_group(&run_, 32, 64), exchange | state_together);
    EXPECT_EQ(taken_from(3), 28U);
}

TEST_F(resolving, activemask_comes_after_other_operations) {
    set(0, 8, active);
    set(8, 9, exchange);
    set(9, 32, barrier);
    give(8, 1, 1U << 8);
    EXPECT_EQ(__hmm_resolve_group(&run_, 0, 32), exchange | state_ready);
    set(8, 9, active);
    EXPECT_EQ(__hmm_resolve_group(&run_, 0, 32), active | state_ready);
    EXPECT_EQ(run_.got[8], 0x1ffU);
}

TEST_F(resolving, threads_in_a_loop_do_not_wait_for_those_that_have_left_it) {
    set(0, 40, round);
    set(40, 64, barrier);
    EXPECT_EQ(__hmm_resolve_group(&run_, 0, 64), round | state_ready);
    EXPECT_EQ(states_[39], round | state_ready);
    EXPECT_EQ(states_[40], barrier);
}

TEST_F(resolving, a_barrier_releases_threads_that_have_not_ended) {
    groups_ = {barrier, state_mixed};
    set(32, 40, state_end);
    set(40, 64, barrier);
    EXPECT_EQ(__hmm_resolve_group(&run_, 32, 64), state_mixed);
    EXPECT_EQ(__hmm_resolve_block(&run_, 32), barrier);
    EXPECT_EQ(states_[32], state_end);
    EXPECT_EQ(states_[63], barrier | state_ready);
    EXPECT_EQ(__hmm_resolve_group(&run_, 32, 64), barrier | state_ready);
}

using resolving_death = resolving;

TEST_F(resolving_death, threads_at_different_places_end_the_launch) {
    groups_ = {barrier, state_mixed};
    set(32, 63, barrier);
    set(63, 64, exchange);
    EXPECT_DEATH(__hmm_resolve_block(&run_, 32),
                 "kernel kernel\\(\\), block \\(0, 0, 0\\): .*thread \\(0, 0, 0\\) at "
                 "__syncthreads \\(file.cu:30\\), thread \\(7, 3, 1\\) at a shuffle "
                 "\\(file.cu:20\\)");
}

} // namespace
} // namespace hmmcuda
