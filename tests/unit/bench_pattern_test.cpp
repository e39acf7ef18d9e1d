// SPDX-License-Identifier: MIT
// The patterns of hmmctl bench: what they compute, and that wrong results are detected.
#include "bench_plan.hpp"
#include "data.hpp"
#include "patterns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace bench;

constexpr std::size_t size = 128 * page_bytes;

struct freeing {
    void operator()(std::byte* memory) const { std::free(memory); }
};
using memory = std::unique_ptr<std::byte, freeing>;

memory filled(const pattern& of, std::size_t bytes = size) {
    memory result(static_cast<std::byte*>(std::aligned_alloc(page_bytes, bytes + page_bytes)));
    std::memset(result.get(), 0, bytes);
    std::memset(result.get() + bytes, 0x5a, page_bytes); // a guard after the data
    of.fill(result.get(), bytes);
    return result;
}

memory done(const pattern& of) {
    memory result = filled(of);
    of.run(result.get(), size);
    return result;
}

class Pattern : public testing::TestWithParam<pattern> {};

TEST_P(Pattern, ResultIsTheSameInOtherMemory) {
    const memory first = done(GetParam()), second = done(GetParam());
    EXPECT_EQ(checksum(GetParam(), first.get(), size), checksum(GetParam(), second.get(), size));
}

TEST_P(Pattern, RunChangesItsResult) {
    const memory before = filled(GetParam()), after = done(GetParam());
    EXPECT_NE(checksum(GetParam(), before.get(), size), checksum(GetParam(), after.get(), size));
}

TEST_P(Pattern, ChecksumSeesOneBit) {
    const memory right = done(GetParam()), wrong = done(GetParam());
    const part result = GetParam().result(size);
    ASSERT_LE(result.offset + result.bytes, size);
    for (const std::size_t at : {std::size_t{0}, result.bytes / 2, result.bytes - 1}) {
        wrong.get()[result.offset + at] ^= std::byte{1};
        EXPECT_NE(checksum(GetParam(), right.get(), size), checksum(GetParam(), wrong.get(), size));
        wrong.get()[result.offset + at] ^= std::byte{1};
    }
}

TEST_P(Pattern, StaysInItsMemory) {
    for (const std::size_t bytes : {least_bytes, size, 1001 * page_bytes}) {
        const memory data = filled(GetParam(), bytes);
        GetParam().run(data.get(), bytes);
        for (std::size_t i = 0; i < page_bytes; i++)
            ASSERT_EQ(data.get()[bytes + i], std::byte{0x5a}) << bytes << " + " << i;
    }
}

/// A copied data set with adjusted addresses does not use the memory that it was copied from.
TEST_P(Pattern, CopyHasTheSameResult) {
    const memory expected = done(GetParam()), copy = filled(GetParam());
    memory original = filled(GetParam());
    std::memcpy(copy.get(), original.get(), size);
    if (GetParam().readdress != nullptr)
        GetParam().readdress(copy.get(), size, original.get(), copy.get());
    std::memset(original.get(), 0, size);
    GetParam().run(copy.get(), size);
    EXPECT_EQ(checksum(GetParam(), copy.get(), size), checksum(GetParam(), expected.get(), size));
}

INSTANTIATE_TEST_SUITE_P(Each, Pattern, testing::ValuesIn(patterns().begin(), patterns().end()),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(Patterns, AreThoseThatAreListed) {
    std::vector<std::string> names;
    for (const pattern& one : patterns())
        names.emplace_back(one.name);
    EXPECT_EQ(names, hmmctl::names_of(hmmctl::bench_patterns()));
    EXPECT_EQ(find_pattern("frob"), nullptr);
}

TEST(Patterns, TouchEachPageOnce) {
    for (const char* name : {"sequential", "strided"}) {
        const memory data = done(*find_pattern(name));
        for (std::uint64_t page = 0; page < size / page_bytes; page++)
            EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(data.get() + page * page_bytes),
                      page * 4 + 1);
    }
    const memory data = done(*find_pattern("random")); // its first page has the order
    for (std::uint64_t page = 1; page < size / page_bytes; page++)
        EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(data.get() + page * page_bytes), page * 4 + 1);
}

TEST(Patterns, VisitsFollowAPowerLaw) {
    const memory data = filled(*find_pattern("zipf")); // its first page has the order
    const auto* order = reinterpret_cast<const std::uint32_t*>(data.get());
    constexpr std::size_t pages = size / page_bytes - 1;
    std::vector<std::size_t> counts(pages);
    for (std::size_t i = 0; i < 4 * pages; i++)
        counts.at(order[i] - 1)++;
    std::sort(counts.rbegin(), counts.rend());
    // the sum of 1/n up to 127 is 5.4, so the first page gets 94 of 508 visits, the tenth 9
    EXPECT_NEAR(static_cast<double>(counts[0]), 94, 30);
    EXPECT_NEAR(static_cast<double>(counts[9]), 9, 5);
    EXPECT_LE(counts[pages / 2], 4u);
}

TEST(Patterns, UpdatesReachAlmostAllPages) {
    const memory before = filled(*find_pattern("gups")), after = done(*find_pattern("gups"));
    std::size_t changed = 0;
    for (std::size_t at = 0; at < size; at += page_bytes)
        changed += std::memcmp(before.get() + at, after.get() + at, page_bytes) != 0;
    EXPECT_GE(changed, size / page_bytes * 9 / 10);
}

TEST(Patterns, TriadAddsItsArrays) {
    const memory data = done(triad);
    const auto* to = reinterpret_cast<const double*>(data.get());
    EXPECT_EQ(to[0], 0);
    EXPECT_EQ(to[5], 5 + 3 * 5);
    EXPECT_EQ(to[1100], 100 + 3 * (1100 % 77));
}

TEST(Patterns, ChainsHaveEachStep) {
    const auto steps = [](const pattern& of) {
        const memory data = done(of);
        return *reinterpret_cast<std::uint64_t*>(data.get());
    };
    EXPECT_EQ(steps(pointer_chase), size / page_bytes - 1);
    EXPECT_EQ(steps(linked_list), (size / page_bytes - 1) * (page_bytes / 64));
}

TEST(Patterns, SearchFindsTheLevelsOfItsGraph) {
    const memory data = done(bfs);
    const part result = bfs.result(size);
    const auto* levels = reinterpret_cast<const std::uint32_t*>(data.get());
    const std::size_t vertices = result.bytes / sizeof(*levels);
    EXPECT_EQ(levels[0], 0u);
    // a reached vertex has an edge from a vertex of the previous level, and none from a lower level
    arrays parts(data.get());
    parts.next<std::uint32_t>(vertices);
    parts.next<std::uint32_t>(vertices);
    const auto* starts = parts.next<std::uint32_t>(vertices + 1);
    const auto* edges = parts.next<std::uint32_t>(starts[vertices]);
    std::vector<std::uint32_t> best(vertices, ~0u);
    best[0] = 0;
    for (std::size_t from = 0; from < vertices; from++)
        for (auto i = starts[from]; i < starts[from + 1]; i++)
            if (levels[from] != ~0u) best[edges[i]] = std::min(best[edges[i]], levels[from] + 1);
    for (std::size_t i = 0; i < vertices; i++)
        EXPECT_EQ(levels[i], best[i]) << i;
    EXPECT_GT(*std::max_element(levels, levels + 100), 2u);
}

} // namespace
