// SPDX-License-Identifier: MIT
// Clocks, and measurements at intervals.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <thread>
#include <utility>

namespace hmmctl {

constexpr std::uint64_t nanoseconds_in_second = 1'000'000'000;

inline std::uint64_t nanoseconds_of(clockid_t clock) {
    timespec now = {};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * nanoseconds_in_second +
           static_cast<std::uint64_t>(now.tv_nsec);
}

/// Calls @take now and after each interval, and @show with the last two results and the seconds
/// between them, @count times or, if that is 0, until a signal ends the program.
template <class Take, class Show>
void each_interval(double interval, unsigned count, Take take, Show show) {
    auto earlier = take();
    std::uint64_t start = nanoseconds_of(CLOCK_MONOTONIC);
    for (unsigned shown = 0; count == 0 || shown < count; shown++) {
        std::this_thread::sleep_for(std::chrono::duration<double>(interval));
        auto now = take();
        const std::uint64_t end = nanoseconds_of(CLOCK_MONOTONIC);
        show(earlier, now, static_cast<double>(end - start) / nanoseconds_in_second);
        earlier = std::move(now);
        start = end;
    }
}

} // namespace hmmctl
