// SPDX-License-Identifier: MIT
// Copies and fills of rows and boxes.
#include "memory_fixture.hpp"
#include "session/copy.hpp"

namespace {

using hmmrt::box_closure;
using hmmrt::copy_closure;

/// Bytes that differ from their neighbours.
std::vector<char> pattern(std::size_t bytes) {
    std::vector<char> made(bytes);
    for (std::size_t i = 0; i < bytes; i++)
        made[i] = static_cast<char>(i * 7 + i / 251);
    return made;
}

TEST(Box, InPiecesIsTheSameAsAtOnce) {
    constexpr std::size_t width = 70000, height = 5, depth = 3, pitch = width + 11;
    constexpr std::size_t layer = pitch * (height + 2);
    auto from = pattern(layer * depth);
    std::vector<char> to(from.size(), 0), expected(from.size(), 0);
    for (std::size_t z = 0; z < depth; z++)
        for (std::size_t y = 0; y < height; y++)
            std::copy_n(&from[z * layer + y * pitch], width, &expected[z * layer + y * pitch]);
    const auto closure = box_closure::copy({to.data(), pitch, layer}, {from.data(), pitch, layer},
                                           {width, height, depth});
    const std::uint64_t items = copy_closure::items(width * height * depth);
    EXPECT_GT(items, 10u);
    for (std::uint64_t item = 0; item < items; item++)
        box_closure::run(closure.get(), item, item + 1);
    EXPECT_TRUE(to == expected);
}

class Rows : public MemoryOverFakes {
  protected:
    static constexpr std::size_t width = 30, height = 4, pitch = 50;
    std::vector<char> from_ = pattern(pitch * height), to_ = std::vector<char>(pitch * height, 1);

    hmmError_t copy(std::size_t to_pitch, std::size_t from_pitch, std::size_t wide,
                    std::size_t high, hmmMemcpyKind kind = hmmMemcpyDefault) {
        return hmmMemcpy2D(to_.data(), to_pitch, from_.data(), from_pitch, wide, high, kind);
    }
};

TEST_F(Rows, AreCopiedAndWhatIsBetweenThemStays) {
    ASSERT_EQ(copy(pitch, pitch, width, height), hmmSuccess);
    for (std::size_t i = 0; i < to_.size(); i++)
        ASSERT_EQ(to_[i], i % pitch < width ? from_[i] : 1) << i;
    ASSERT_EQ(copy(width, pitch, width, height), hmmSuccess) << "side by side on one side";
    for (std::size_t row = 0; row < height; row++)
        ASSERT_TRUE(std::equal(&to_[row * width], &to_[row * width] + width, &from_[row * pitch]));
}

TEST_F(Rows, AreFilledAndWhatIsBetweenThemStays) {
    const hmm::stream in;
    ASSERT_EQ(hmmMemset2DAsync(to_.data(), pitch, 0x1a5, width, height, in.get()), hmmSuccess);
    in.synchronize();
    for (std::size_t i = 0; i < to_.size(); i++)
        ASSERT_EQ(to_[i], i % pitch < width ? static_cast<char>(0xa5) : 1) << i;
}

TEST_F(Rows, ThatCannotBeAreErrorsAndNothingIsCopied) {
    const auto before = to_;
    EXPECT_EQ(copy(width - 1, pitch, width, height), hmmErrorInvalidPitchValue);
    EXPECT_EQ(copy(pitch, width - 1, width, height), hmmErrorInvalidPitchValue);
    EXPECT_EQ(copy(pitch, pitch, width, SIZE_MAX), hmmErrorInvalidValue);
    EXPECT_EQ(copy(pitch, pitch, width, SIZE_MAX / pitch + 1), hmmErrorInvalidValue);
    EXPECT_EQ(copy(SIZE_MAX, SIZE_MAX, SIZE_MAX, 1), hmmErrorInvalidValue);
    EXPECT_EQ(copy(pitch, pitch, width, height, static_cast<hmmMemcpyKind>(5)),
              hmmErrorInvalidMemcpyDirection);
    EXPECT_EQ(hmmMemcpy2D(nullptr, pitch, from_.data(), pitch, width, height, hmmMemcpyDefault),
              hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemset2D(nullptr, pitch, 0, width, height), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemset2D(to_.data(), width - 1, 0, width, height), hmmErrorInvalidPitchValue);
    EXPECT_EQ(copy(pitch, pitch, width, 0), hmmSuccess) << "no row";
    EXPECT_EQ(copy(0, 0, 0, height), hmmSuccess) << "rows of nothing";
    EXPECT_EQ(copy(0, width - 1, width, 0), hmmSuccess) << "no row that could be wrong";
    EXPECT_EQ(hmmMemset2D(to_.data(), 0, 0, width, 0), hmmSuccess);
    EXPECT_EQ(copy(width - 1, pitch, width, 1), hmmErrorInvalidValue);
    EXPECT_EQ(copy(pitch, 1, width, 1), hmmErrorInvalidValue);
    EXPECT_EQ(to_, before);
}

TEST_F(Rows, NeedAPitchIfThereAreSeveral) {
    EXPECT_EQ(copy(0, 0, width, 1), hmmSuccess);
    EXPECT_TRUE(std::equal(&to_[0], &to_[width], &from_[0]));
    EXPECT_EQ(to_[width], 1);
    EXPECT_EQ(copy(0, pitch, width, 2), hmmErrorInvalidPitchValue);
    EXPECT_EQ(hmmMemset2D(to_.data(), 0, 4, width, 1), hmmSuccess);
    EXPECT_EQ(hmmMemset2D(to_.data(), width - 1, 5, width, 1), hmmSuccess);
    EXPECT_EQ(to_[width - 1], 5);
    EXPECT_EQ(to_[width], 1);
    EXPECT_EQ(hmmMemset2D(to_.data(), 0, 6, width, 2), hmmErrorInvalidPitchValue);
}

class Boxes : public MemoryOverFakes {
  protected:
    static constexpr std::size_t wide = 16, high = 8, deep = 6;
    std::vector<char> from_ = pattern(wide * high * deep), to_ = std::vector<char>(from_.size(), 1);

    hmmMemcpy3DParms params() {
        hmmMemcpy3DParms made = {};
        made.srcPtr = make_hmmPitchedPtr(from_.data(), wide, wide, high);
        made.dstPtr = make_hmmPitchedPtr(to_.data(), wide, wide, high);
        made.srcPos = make_hmmPos(3, 2, 1);
        made.dstPos = make_hmmPos(4, 1, 2);
        made.extent = make_hmmExtent(10, 5, 3);
        made.kind = hmmMemcpyDefault;
        return made;
    }
    static std::size_t index(std::size_t x, std::size_t y, std::size_t z) {
        return (z * high + y) * wide + x;
    }
};

TEST_F(Boxes, AreCopiedBetweenPositions) {
    const hmmMemcpy3DParms made = params();
    ASSERT_EQ(hmmMemcpy3D(&made), hmmSuccess);
    std::vector<char> expected(to_.size(), 1);
    for (std::size_t z = 0; z < 3; z++)
        for (std::size_t y = 0; y < 5; y++)
            for (std::size_t x = 0; x < 10; x++)
                expected[index(4 + x, 1 + y, 2 + z)] = from_[index(3 + x, 2 + y, 1 + z)];
    EXPECT_EQ(to_, expected);
}

TEST_F(Boxes, AreFilled) {
    hmmPitchedPtr at = params().dstPtr;
    at.ptr = &to_[index(1, 0, 0)];
    ASSERT_EQ(hmmMemset3D(at, 9, make_hmmExtent(2, 3, 2)), hmmSuccess);
    for (std::size_t i = 0; i < to_.size(); i++) {
        const std::size_t x = i % wide, y = i / wide % high, z = i / wide / high;
        ASSERT_EQ(to_[i], x >= 1 && x < 3 && y < 3 && z < 2 ? 9 : 1) << i;
    }
}

TEST_F(Boxes, NeedAPitchIfTheyHaveSeveralRows) {
    hmmMemcpy3DParms made = params();
    made.srcPtr.pitch = 0;
    made.srcPos = {};
    EXPECT_EQ(hmmMemcpy3D(&made), hmmErrorInvalidPitchValue);
    made.extent = make_hmmExtent(10, 1, 2);
    EXPECT_EQ(hmmMemcpy3D(&made), hmmErrorInvalidPitchValue);
    made.extent.depth = 1;
    EXPECT_EQ(hmmMemcpy3D(&made), hmmSuccess);
    EXPECT_TRUE(std::equal(&from_[0], &from_[10], &to_[index(4, 1, 2)]));
    EXPECT_EQ(hmmMemset3D(make_hmmPitchedPtr(to_.data(), 0, 0, 1), 2, make_hmmExtent(10, 1, 1)),
              hmmSuccess);
    EXPECT_EQ(to_[9], 2);
}

TEST_F(Boxes, ThatCannotBeAreErrors) {
    const auto code = [&](auto change) {
        hmmMemcpy3DParms made = params();
        change(made);
        return hmmMemcpy3D(&made);
    };
    EXPECT_EQ(code([](auto& p) { p.srcArray = reinterpret_cast<hmmArray_t>(&p); }),
              hmmErrorNotSupported);
    EXPECT_EQ(code([](auto& p) { p.dstArray = reinterpret_cast<hmmArray_t>(&p); }),
              hmmErrorNotSupported);
    EXPECT_EQ(code([](auto& p) { p.kind = static_cast<hmmMemcpyKind>(7); }),
              hmmErrorInvalidMemcpyDirection);
    EXPECT_EQ(code([](auto& p) { p.srcPtr.pitch = 9; }), hmmErrorInvalidPitchValue);
    EXPECT_EQ(code([](auto& p) { p.dstPtr.ysize = 4; }), hmmErrorInvalidValue);
    EXPECT_EQ(code([](auto& p) { p.dstPtr.ptr = nullptr; }), hmmErrorInvalidValue);
    EXPECT_EQ(code([](auto& p) { p.srcPos.z = SIZE_MAX / 2; }), hmmErrorInvalidValue);
    EXPECT_EQ(code([](auto& p) { p.extent.depth = SIZE_MAX / 2; }), hmmErrorInvalidValue);
    EXPECT_EQ(code([](auto& p) { p.extent.depth = 0; }), hmmSuccess);
    EXPECT_EQ(to_, std::vector<char>(to_.size(), 1));
}

TEST_F(Boxes, HaveMemoryWithRowsThatAreAligned) {
    char* rows = nullptr;
    std::size_t pitch = 0;
    ASSERT_EQ(hmmMallocPitch(&rows, &pitch, 513, 3), hmmSuccess);
    EXPECT_EQ(pitch, 1024u);
    rows[2 * pitch + 512] = 1;
    EXPECT_EQ(hmmFree(rows), hmmSuccess);
    ASSERT_EQ(hmmMallocPitch(&rows, &pitch, 0, 3), hmmSuccess);
    EXPECT_EQ(rows, nullptr);
    EXPECT_EQ(pitch, 0u);
    EXPECT_EQ(hmmMallocPitch(&rows, &pitch, SIZE_MAX, 1), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMallocPitch(&rows, &pitch, 512, SIZE_MAX), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMallocPitch(&rows, &pitch, 512, SIZE_MAX / 1024), hmmErrorMemoryAllocation);

    hmmPitchedPtr box;
    ASSERT_EQ(hmmMalloc3D(&box, make_hmmExtent(100, 7, 5)), hmmSuccess);
    EXPECT_EQ(box.pitch, 512u);
    EXPECT_EQ(box.xsize, 100u);
    EXPECT_EQ(box.ysize, 7u);
    static_cast<char*>(box.ptr)[512 * 7 * 5 - 1] = 1;
    EXPECT_EQ(hmmFree(box.ptr), hmmSuccess);
    EXPECT_EQ(hmmMalloc3D(&box, make_hmmExtent(100, SIZE_MAX, 5)), hmmErrorInvalidValue);
}

} // namespace
