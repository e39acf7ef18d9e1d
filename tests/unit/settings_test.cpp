// SPDX-License-Identifier: MIT
#include "base/settings.hpp"

#include "runtime_checks.hpp"

using namespace hmmrt;

namespace {

TEST(LaneCount, IsTheNumberOfCpusUnlessTheEnvironmentHasACount) {
    EXPECT_EQ(choose_lane_count(nullptr, 4), 4u);
    EXPECT_EQ(choose_lane_count("", 4), 4u);
    EXPECT_EQ(choose_lane_count(nullptr, 0), 1u);
    EXPECT_EQ(choose_lane_count(nullptr, 100000), max_lanes);
    EXPECT_EQ(choose_lane_count("1", 4), 1u);
    EXPECT_EQ(choose_lane_count("128", 4), 128u);
    for (const char* text : {"0", "-1", "129", "two", "2 ", "1x", "99999999999999999999"})
        EXPECT_THROW(choose_lane_count(text, 4), failure) << text;
}

TEST(Strict, FollowsSeccompUnlessTold) {
    EXPECT_FALSE(choose_strict(nullptr, 0));
    EXPECT_TRUE(choose_strict(nullptr, 2));
    EXPECT_TRUE(choose_strict("1", 0));
    EXPECT_FALSE(choose_strict("0", 2));
}

using numbers = std::vector<std::size_t>;

numbers visible(const char* text) {
    const std::string uuids[] = {"GPU-1200-0", "GPU-1234-1", "GPU-5678-2"};
    return choose_visible("CUDA_VISIBLE_DEVICES", text, uuids);
}

TEST(Visible, DevicesAreThoseOfTheListInItsOrderEachOnce) {
    EXPECT_EQ(visible(nullptr), (numbers{0, 1, 2}));
    EXPECT_EQ(visible("2,0"), (numbers{2, 0}));
    EXPECT_EQ(visible(" 1"), numbers{1});
    EXPECT_EQ(visible("GPU-5678-2,GPU-12345"), numbers{2});
    EXPECT_EQ(visible("GPU-5,GPU-120"), (numbers{2, 0}));
    EXPECT_THROW(visible("0,0"), failure);
    EXPECT_THROW(visible("GPU-5,GPU-56"), failure);
    EXPECT_EQ(visible("1,3,1"), numbers{1});
}

TEST(Visible, TheListEndsAtWhatIsNoDevice) {
    for (const char* none : {"", " ", ",", ",0", "-1", "3", "abc", "GPU-", "GPU-12", "GPU-9",
                             "gpu-5", "5678-2", "99999999999999999999"})
        EXPECT_EQ(visible(none), numbers{}) << none;
    for (const char* one : {"1,", "1,-1,0", "1,3,0", "1,GPU-5", "1abc", "1;0", "+1", "01", "1 "})
        EXPECT_EQ(visible(one), numbers{1}) << one;
    EXPECT_EQ(visible("GPU-5,0"), numbers{2});
}

TEST(Blocking, IsANumberOtherThanZero) {
    for (const char* text : {"1", "2", "-1", "1x"})
        EXPECT_TRUE(choose_blocking(text)) << text;
    for (const char* text : {"0", "", "yes", "true"})
        EXPECT_FALSE(choose_blocking(text)) << text;
    EXPECT_FALSE(choose_blocking(nullptr));
}

TEST(Partition, PiecesCoverTheLaunchExactlyAndLargeOnesEndAtCacheLines) {
    for (const std::uint32_t lanes : {1u, 2u, 3u, 128u})
        for (const std::uint64_t items : {1ul, 2ul, 31ul, 32ul, 33ul, 1000ul, 1048577ul, ~0ul}) {
            const partition cut = cut_launch(items, lanes);
            ASSERT_GT(cut.items, 0u);
            const std::uint64_t before_last = (cut.pieces - 1) * cut.items;
            EXPECT_LT(before_last, items);
            EXPECT_LE(items - before_last, cut.items);
            EXPECT_LE(cut.pieces, 16 * lanes);
        }
    EXPECT_EQ(cut_launch(1, 8).pieces, 1u);
    EXPECT_EQ(cut_launch(1000000, 2).items % 64, 0u);
}

TEST(LaunchLimit, IsANumberOfSeconds) {
    EXPECT_EQ(choose_launch_limit(nullptr), 0u);
    EXPECT_EQ(choose_launch_limit(""), 0u);
    EXPECT_EQ(choose_launch_limit("0"), 0u);
    EXPECT_EQ(choose_launch_limit("5"), 5000u);
    for (const char* wrong : {"-1", "5s", "x", "1.5", "1000001", "99999999999999999999"})
        EXPECT_THROW(choose_launch_limit(wrong), failure) << wrong;
}

TEST(Settings, SizesHaveALetterAndAreWholePages) {
    EXPECT_EQ(choose_device_memory(nullptr, 7), 7u);
    EXPECT_EQ(choose_device_memory("", 7), 7u);
    EXPECT_EQ(choose_device_memory("8192", 7), 8192u);
    EXPECT_EQ(choose_device_memory("256M", 7), 256u << 20);
    EXPECT_EQ(choose_device_memory("2G", 7), 2ul << 30);
    for (const char* wrong : {"0", "M", "1", "1000", "4X", "4KK", "-4K", " 4K", "1000000T"})
        EXPECT_THROW(choose_device_memory(wrong, 7), failure) << wrong;
}

TEST(Settings, StacksHaveASizeThatIsLargeEnough) {
    EXPECT_EQ(choose_stack_bytes(nullptr, 7), 7u);
    EXPECT_EQ(choose_stack_bytes("", 7), 7u);
    EXPECT_EQ(choose_stack_bytes("256K", 7), 256u << 10);
    EXPECT_EQ(choose_stack_bytes("1052672", 7), 1052672u);
    EXPECT_EQ(choose_stack_bytes("64M", 7), 64u << 20);
    EXPECT_EQ(choose_stack_bytes("1G", 7), 1u << 30);
    for (const char* wrong : {"0", "64", "252K", "1000001", "64m", "M", "-64M", "64MB", "1000000T"})
        EXPECT_THROW(choose_stack_bytes(wrong, 7), failure) << wrong;
    const std::string text = message_of([] { choose_stack_bytes("8k", 7); });
    EXPECT_TRUE(text.starts_with("HMMRT_STACK_SIZE=8k: ")) << text;
    EXPECT_TRUE(mentions(text, {"multiple of 4K", "at least 256K", "64M"}));
}

TEST(Settings, DevicesAreAtLeastOneAndAtMostWhatThereCanBe) {
    EXPECT_EQ(choose_device_count(nullptr), 1u);
    EXPECT_EQ(choose_device_count("16"), 16u);
    for (const char* wrong : {"0", "17", "two", "2 "})
        EXPECT_THROW(choose_device_count(wrong), failure) << wrong;
}

} // namespace
