// SPDX-License-Identifier: MIT
/*
 * The access patterns that `hmmctl bench` measures. A pattern has one data set, in one piece of
 * memory. Its layout only depends on the address and the size, so the same code runs on the CPU and
 * on a device, with bit-identical results.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace bench {

constexpr std::size_t page_bytes = 4096;
/// The smallest data set that all patterns support.
constexpr std::size_t least_bytes = 64 * page_bytes;

/// A part of a data set, in bytes from its start.
struct part {
    std::size_t offset = 0, bytes = 0;
};

struct pattern {
    std::string_view name;
    /// Writes the data set to zeroed memory. Apart from addresses, it is the same for each call.
    void (*fill)(std::byte* at, std::size_t bytes);
    void (*run)(std::byte* at, std::size_t bytes);
    /// Returns where run() leaves the program's result, which doesn't contain addresses.
    part (*result)(std::size_t bytes);
    /// In a data set that fill() wrote to @from and that was copied to @at, adjusts the addresses
    /// for @to. Null if the data set doesn't contain addresses.
    void (*readdress)(std::byte* at, std::size_t bytes, const std::byte* from, const std::byte* to);
};

/// Returns all patterns, in the order of hmmctl::bench_patterns.
std::span<const pattern> patterns();
/// Returns nullptr if there is no pattern of this name.
const pattern* find_pattern(std::string_view name);

/// Returns a checksum of the result that depends on every bit.
std::uint64_t checksum(const pattern& of, const std::byte* at, std::size_t bytes);

// The elements of patterns(), by file.
extern const pattern sequential, random_pages, strided, zipf, gups, triad, stencil;
extern const pattern gemm, atax, spmv;
extern const pattern bfs, pointer_chase, linked_list;

} // namespace bench
