// SPDX-License-Identifier: MIT
/*
 * Statistics: what a device and the memory manager did for this process.
 *
 *     const std::uint64_t before = hmm::stats().deviceFaults;
 *     ...
 *     std::printf("%lu faults\n", hmm::stats().deviceFaults - before);
 */
#pragma once

#include <hmm/device.hpp>

namespace hmm {

/// Returns the statistics of a device. All counts are 0 while it is not
/// started for this process.
[[nodiscard]] inline hmmStats stats(device of = current_device()) {
    const scoped_device use(of);
    hmmStats result;
    check(hmmGetStats(&result), "stats");
    return result;
}

} // namespace hmm
