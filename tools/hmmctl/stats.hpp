// SPDX-License-Identifier: MIT
// The counters of processes and devices, as totals or over an interval.
#pragma once

#include "commands.hpp"
#include "json.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hmmctl {

/// All counters at one moment.
struct stats_sample {
    process_scan scan;
    std::vector<hmmrt_device_info> devices;
};

struct device_stats {
    std::uint32_t id = 0;
    counters of_processes;       ///< of the processes, on this device
    std::optional<counters> own; ///< of the device itself
};

/// Sums over all processes. Contains the counters that hmmctl knows even if no process has them.
struct stats {
    std::size_t processes = 0, unreadable = 0;
    counters of_processes;             ///< counters that don't belong to a device
    std::vector<device_stats> devices; ///< by id
};

/// Returns what was counted since @earlier or, if that is nullptr, in total. Leaves out processes
/// that have ended in between, because their counters are gone.
stats stats_between(const stats_sample* earlier, const stats_sample& now);

/// Keeps the counters whose names contain one of @parts, or all if there are no parts. Throws
/// failure if no name contains a part.
void select_counters(stats& of, const std::vector<std::string>& parts);

struct stats_request {
    pid_t pid = 0;       ///< 0 for all processes and devices
    double interval = 0; ///< seconds, 0 for totals
    unsigned count = 0;  ///< of intervals, 0 for no limit
    std::vector<std::string> parts;
};

/// @pid is 0 for all processes. @seconds is the length of the interval, if there is one; the text
/// then omits rows of zeros.
json to_json(const stats& of, pid_t pid, std::optional<double> seconds);
std::string text_of(const stats& of, pid_t pid, std::optional<double> seconds);

/// With an interval, prints each result itself and returns no text.
output show_stats(const stats_request& wanted, bool as_json);

} // namespace hmmctl
