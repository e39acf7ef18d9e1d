// SPDX-License-Identifier: MIT
/*
 * The patterns of access that `hmmctl bench` measures. A pattern has one data set, in one piece of
 * memory. All that it has there follows from the address and the size, so the same code runs on the
 * CPU and on a device, and its result is the same to the bit.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace bench {

constexpr std::size_t page_bytes = 4096;
/// The smallest data set that each pattern can have.
constexpr std::size_t least_bytes = 64 * page_bytes;

/// A part of a data set, in bytes from its start.
struct part {
    std::size_t offset = 0, bytes = 0;
};

struct pattern {
    std::string_view name;
    /// Writes the data set to memory that is zero: the same for each call, but for addresses.
    void (*fill)(std::byte* at, std::size_t bytes);
    void (*run)(std::byte* at, std::size_t bytes);
    /// Returns where run() leaves what the program wants. It has no addresses.
    part (*result)(std::size_t bytes);
    /// Changes the addresses in a data set that fill() wrote, and that was copied from @from to
    /// @at, to those that it has at @to. Null without addresses.
    void (*readdress)(std::byte* at, std::size_t bytes, const std::byte* from, const std::byte* to);
};

/// Returns all patterns, in the order of hmmctl::bench_patterns.
std::span<const pattern> patterns();
/// Returns null if there is none of that name.
const pattern* find_pattern(std::string_view name);

/// Returns a sum over the result in which each bit counts.
std::uint64_t checksum(const pattern& of, const std::byte* at, std::size_t bytes);

// The parts of patterns(), by file.
extern const pattern sequential, random_pages, strided, triad, stencil;
extern const pattern gemm, atax, spmv;
extern const pattern bfs, pointer_chase, linked_list;

} // namespace bench
