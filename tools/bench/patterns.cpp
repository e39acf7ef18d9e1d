// SPDX-License-Identifier: MIT
#include "patterns.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace bench {

std::span<const pattern> patterns() {
    static const std::array all = {sequential, random_pages,  strided,    zipf, gups,
                                   triad,      stencil,       gemm,       atax, spmv,
                                   bfs,        pointer_chase, linked_list};
    return all;
}

const pattern* find_pattern(std::string_view name) {
    for (const pattern& one : patterns())
        if (one.name == name) return &one;
    return nullptr;
}

std::uint64_t checksum(const pattern& of, const std::byte* at, std::size_t bytes) {
    const part result = of.result(bytes);
    std::uint64_t sum = result.bytes;
    for (std::size_t i = 0; i < result.bytes; i += sizeof(sum)) {
        std::uint64_t word = 0;
        std::memcpy(&word, at + result.offset + i, std::min(sizeof(word), result.bytes - i));
        sum = (sum ^ word) * 0x100000001b3;
        sum ^= sum >> 29;
    }
    return sum;
}

} // namespace bench
