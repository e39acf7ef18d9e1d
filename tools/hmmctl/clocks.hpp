// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <ctime>

namespace hmmctl {

constexpr std::uint64_t nanoseconds_in_second = 1'000'000'000;

inline std::uint64_t nanoseconds_of(clockid_t clock) {
    timespec now = {};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * nanoseconds_in_second +
           static_cast<std::uint64_t>(now.tv_nsec);
}

} // namespace hmmctl
