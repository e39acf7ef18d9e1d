// SPDX-License-Identifier: MIT
#include "settings.hpp"

#include "agent/control.h"
#include "failure.hpp"

#include <charconv>
#include <cstring>

namespace hmmrt {

std::uint32_t choose_lane_count(const char* text, int cpus) {
    if (text == nullptr || *text == '\0') {
        if (cpus < 1) return 1;
        return cpus > static_cast<int>(max_lanes) ? max_lanes : static_cast<std::uint32_t>(cpus);
    }
    std::uint32_t lanes = 0;
    const char* const end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, lanes);
    if (error != std::errc() || rest != end || lanes < 1 || lanes > max_lanes)
        throw failure(hmmErrorInitializationError, std::string("HMMRT_LANES=") + text +
                                                       ": not a number from 1 to " +
                                                       std::to_string(max_lanes));
    return lanes;
}

bool choose_strict(const char* text, int seccomp_mode) {
    if (text == nullptr || *text == '\0') return seccomp_mode > 0;
    return std::strcmp(text, "0") != 0;
}

std::uint64_t choose_launch_limit(const char* text) {
    constexpr std::uint64_t most_seconds = 1000000;
    if (text == nullptr || *text == '\0') return 0;
    std::uint64_t seconds = 0;
    const char* const end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, seconds);
    if (error != std::errc() || rest != end || seconds > most_seconds)
        throw failure(hmmErrorInitializationError, std::string("HMMRT_LAUNCH_TIMEOUT=") + text +
                                                       ": not a number of seconds from 0 to " +
                                                       std::to_string(most_seconds));
    return seconds * 1000;
}

partition cut_launch(std::uint64_t items, std::uint32_t lanes) {
    constexpr std::uint64_t pieces_per_lane = 16;
    // Lanes that write neighbouring items should rarely share a cache line.
    constexpr std::uint64_t granule = 64;

    const std::uint64_t wanted = pieces_per_lane * lanes;
    std::uint64_t each = items / wanted + (items % wanted != 0 ? 1 : 0);
    if (each > granule) each += granule - 1 - (each - 1) % granule;
    if (each == 0) each = 1;
    const std::uint64_t pieces = items / each + (items % each != 0 ? 1 : 0);
    return {static_cast<std::uint32_t>(pieces), each};
}

} // namespace hmmrt
