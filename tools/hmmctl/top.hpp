// SPDX-License-Identifier: MIT
// Live view of all processes.
#pragma once

#include "commands.hpp"
#include "processes.hpp"

#include <string>
#include <vector>

namespace hmmctl {

/// A process's activity per second.
struct process_rates {
    process of;
    double device_faults = 0, cpu_faults = 0;
    double bytes_to_devices = 0; ///< including from one device to another
    double bytes_to_host = 0;    ///< including evictions
    double evictions = 0;        ///< 2 MiB each of any process's memory, on behalf of this one
};

/// Compares two scans that are @seconds apart. Counters that the earlier scan lacks started at 0.
/// Returns the processes with the most device faults first.
std::vector<process_rates> rates_between(const process_scan& earlier, const process_scan& now,
                                         double seconds, std::uint64_t bytes_of_page);

std::string text_of(const std::vector<process_rates>& rates);

/// Returns the first @number lines of the text.
std::string first_lines(const std::string& text, std::size_t number);

/// Prints a table every @interval seconds, @count times or, if that is 0, until a signal ends it.
/// On a terminal each table replaces the previous one.
output show_top(double interval, unsigned count);

} // namespace hmmctl
