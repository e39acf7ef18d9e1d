// SPDX-License-Identifier: MIT
#include "work/grid.hpp"

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <vector>

using namespace hmmrt;

namespace {

TEST(Grid, CountsThreads) {
    EXPECT_EQ(grid_items({2, 3, 4}, {5, 6, 7}), 5040u);
    EXPECT_EQ(grid_items({1, 1, 1}, {1, 1, 1}), 1u);
}

TEST(Grid, HasNoThreadsIfADimensionIsZeroOrTheNumberDoesNotFit) {
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
