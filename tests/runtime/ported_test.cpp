// SPDX-License-Identifier: MIT
// CUDA programs, ported by search and replace, compute the right results.
#include "device_fixture.hpp"
#include "ported.h"

namespace {

class Ported : public OnDevice {};

TEST_F(Ported, KernelsOnManagedMemory) {
    EXPECT_EQ(vector_add(), 0) << hmmGetLastErrorDetail();
}

TEST_F(Ported, BlocksOfTwoDimensionsOnDeviceMemory) {
    EXPECT_EQ(blocks_of_two_dimensions(), 0) << hmmGetLastErrorDetail();
}

TEST_F(Ported, ListsOnTheHeap) {
    EXPECT_EQ(pointers_of_the_heap(), 0) << hmmGetLastErrorDetail();
}

TEST_F(Ported, QuestionsAboutPointers) {
    EXPECT_EQ(where_memory_is(), 0) << hmmGetLastErrorDetail();
}

TEST_F(Ported, OccupancyChoosesABlockThatWorks) {
    EXPECT_EQ(occupancy_chooses_the_block(), 0) << hmmGetLastErrorDetail();
}

TEST_F(Ported, CopiesOfRows) {
    EXPECT_EQ(rows(), 0) << hmmGetLastErrorDetail();
}

TEST_F(Ported, CopiesOfBoxes) {
    EXPECT_EQ(boxes(), 0) << hmmGetLastErrorDetail();
}

TEST_F(Ported, MemoryInTheOrderOfAStream) {
    EXPECT_EQ(memory_in_the_order_of_a_stream(), 0) << hmmGetLastErrorDetail();
}

TEST_F(Ported, CallbacksAndEvents) {
    EXPECT_EQ(callbacks(), 0) << hmmGetLastErrorDetail();
}

TEST_F(Ported, CallsFromC) {
    EXPECT_EQ(from_c(), 0) << hmmGetLastErrorDetail();
}

TEST_F(Ported, MappedMemoryOfTheDriverApi) {
    EXPECT_EQ(mapped_memory_grows(), 0) << hmmGetLastErrorDetail();
}

} // namespace
