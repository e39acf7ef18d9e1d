// SPDX-License-Identifier: MIT
// Repeated measurements at intervals.
#pragma once

#include "clocks.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>

namespace hmmctl {

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

/// Writes to standard output and flushes it. Throws failure.
void print_now(const std::string& text);

} // namespace hmmctl
