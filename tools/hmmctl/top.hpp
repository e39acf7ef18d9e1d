// SPDX-License-Identifier: MIT
// A view of all processes that goes on.
#pragma once

#include "commands.hpp"
#include "processes.hpp"

#include <string>
#include <vector>

namespace hmmctl {

/// What a process did per second.
struct process_rates {
    process of;
    double device_faults = 0, cpu_faults = 0;
    double bytes_to_devices = 0; ///< also from one device to another
    double bytes_to_host = 0;    ///< with evicted ones
    double evictions = 0;        ///< 2 MiB of memory of any process, for this one
};

/// Compares two scans that are @seconds apart. Counters that were not there at first began at 0.
/// Those with the most device faults come first.
std::vector<process_rates> rates_between(const process_scan& earlier, const process_scan& now,
                                         double seconds, std::uint64_t bytes_of_page);

std::string text_of(const std::vector<process_rates>& rates);

/// Returns the first @number lines of a text.
std::string first_lines(const std::string& text, std::size_t number);

/// Prints a table each @interval seconds, @count times or, with 0, until a signal ends it. On a
/// terminal each table replaces the one before.
output show_top(double interval, unsigned count);

} // namespace hmmctl
