// SPDX-License-Identifier: MIT
// What the environment decides.
#pragma once

#include <cstdint>
#include <string>

namespace hmmrt {

/// HMMRT_LANES=@text, or one lane per CPU; throws failure if @text is no count.
std::uint32_t choose_lane_count(const char* text, int cpus);

/// HMMRT_STRICT=@text; without it, strict where the program runs under seccomp.
bool choose_strict(const char* text, int seccomp_mode);

/// How a launch is cut: @pieces of @items each, the last one may be shorter.
struct partition {
    std::uint32_t pieces;
    std::uint64_t items;
};
partition cut_launch(std::uint64_t items, std::uint32_t lanes);

} // namespace hmmrt
