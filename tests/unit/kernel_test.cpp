// SPDX-License-Identifier: MIT
// Kernels with their own parameters, and the threads of their grids.
#include "memory_fixture.hpp"

#include "hmm/hmm_language.hpp"
#include "session/grid.hpp"

#include <tuple>

using namespace hmmrt;

namespace {

struct triple {
    char a;
    double b;
    short c;
};

__global__ void note(std::atomic<std::uint64_t>* sum, triple values, char last) {
    *sum += threadIdx.x + 10 * blockIdx.x + 100 * blockIdx.y + 1000 * (blockDim.x - 1) +
            10000 * (gridDim.y - 1) + static_cast<std::uint64_t>(values.b) +
            static_cast<std::uint64_t>(values.c) + static_cast<std::uint64_t>(values.a + last);
}

__global__ void nothing() {}

class Kernels : public MemoryOverFakes {};

TEST_F(Kernels, GetTheirArgumentsAndKnowTheirThread) {
    std::atomic<std::uint64_t> sum = 0;
    std::atomic<std::uint64_t>* where = &sum;
    triple values = {1, 2.0, 3};
    char last = 4;
    void* arguments[] = {&where, &values, &last};
    ASSERT_EQ(hmmLaunchKernel(note, dim3(3, 2), 5, arguments), hmmSuccess);
    values = {};
    where = nullptr; // the launch has copied the arguments
    ASSERT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    std::uint64_t expected = 0;
    for (std::uint64_t thread = 0; thread < 30; thread++)
        expected += thread % 5 + 10 * (thread / 5 % 3) + 100 * (thread / 15) + 4000 + 10000 + 10;
    EXPECT_EQ(sum, expected);
}

TEST_F(Kernels, WithWrongArgumentsAreErrors) {
    void* arguments[] = {this, this, nullptr};
    void (*no_kernel)() = nullptr;
    EXPECT_EQ(hmmLaunchKernel(nothing, 1, 1, nullptr), hmmSuccess) << "it has no parameters";
    EXPECT_EQ(hmmLaunchKernel(no_kernel, 1, 1, nullptr), hmmErrorInvalidDeviceFunction);
    EXPECT_EQ(hmmLaunchKernel(note, 1, 1, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmLaunchKernel(note, 1, 1, arguments), hmmErrorInvalidValue);
    EXPECT_EQ(hmmLaunchKernel(nothing, 0, 1, nullptr), hmmErrorInvalidConfiguration);
    EXPECT_EQ(hmmLaunchKernel(nothing, 1, 1, nullptr, 64), hmmErrorNotSupported);
    EXPECT_EQ(hmmLaunchKernel(nothing, 1, 1, nullptr, 0, reinterpret_cast<hmmStream_t>(~0ul)),
              hmmErrorInvalidResourceHandle);
}

TEST_F(Kernels, HaveDimensionsOfOneWhereNothingIsSaid) {
    constexpr hmmDim3 four = 4;
    EXPECT_EQ(four.x, 4u);
    EXPECT_EQ(four.y, 1u);
    EXPECT_EQ(four.z, 1u);
    EXPECT_EQ(hmmDim3{}.x, 1u);
    EXPECT_EQ((hmmDim3{2, 3}.z), 1u);
}

template <class Kernel>
concept launches = requires(Kernel function, void** arguments) {
    hmmLaunchKernel(function, hmmDim3(), hmmDim3(), arguments);
};

TEST_F(Kernels, WithoutATypeDoNotCompile) {
    static_assert(launches<void (*)(int, float*)>);
    static_assert(!launches<const void*>);
    static_assert(!launches<void*>);
    static_assert(!launches<int (*)(int)>);
}

// ---- grids

TEST(Grid, CountsThreadsAndHasNoneIfADimensionIsZeroOrTheNumberDoesNotFit) {
    EXPECT_EQ(grid_items({2, 3, 4}, {5, 6, 7}), 5040u);
    EXPECT_EQ(grid_items({1, 1, 1}, {1, 1, 1}), 1u);
    EXPECT_EQ(grid_items({0, 1, 1}, {1, 1, 1}), 0u);
    EXPECT_EQ(grid_items({1, 1, 1}, {1, 0, 1}), 0u);
    EXPECT_EQ(grid_items({UINT32_MAX, UINT32_MAX, 2}, {1, 1, 1}), 0u);
}

auto key(const hmmThreadIndex& index) {
    const auto& [t, b] = std::tie(index.threadIdx, index.blockIdx);
    return std::make_tuple(b.z, b.y, b.x, t.z, t.y, t.x);
}

TEST(Grid, AdvancingVisitsTheThreadsInTheOrderOfItems) {
    const hmmDim3 grid = {3, 2, 2}, block = {4, 3, 2};
    hmmThreadIndex walked = grid_thread(grid, block, 0);
    std::set<decltype(key(walked))> seen;
    for (std::uint64_t item = 0; item < grid_items(grid, block); item++) {
        EXPECT_EQ(key(walked), key(grid_thread(grid, block, item))) << item;
        seen.insert(key(walked));
        advance(walked);
    }
    EXPECT_EQ(seen.size(), grid_items(grid, block));
}

struct arguments {
    std::vector<int>* visits;
};

void visit(const hmmThreadIndex* index, void* raw) {
    const auto& args = *static_cast<arguments*>(raw);
    (*args.visits)[index->blockIdx.x * index->blockDim.x + index->threadIdx.x]++;
}

TEST(Grid, ClosureCopiesItsArgumentsAndRunsAnyPiece) {
    std::vector<int> visits(12);
    arguments args = {&visits};
    auto closure = grid_closure::create(visit, {3, 1, 1}, {4, 1, 1}, &args, sizeof(args));
    args.visits = nullptr;
    grid_closure::run(closure.get(), 0, 5);
    grid_closure::run(closure.get(), 5, 12);
    EXPECT_EQ(visits, std::vector<int>(12, 1));
}

} // namespace
