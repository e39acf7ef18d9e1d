// SPDX-License-Identifier: MIT
// The counters of processes and of devices, at one moment or of an interval.
#pragma once

#include "commands.hpp"
#include "json.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hmmctl {

/// What there is to count from, at one moment.
struct stats_sample {
    process_scan scan;
    std::vector<hmmrt_device_info> devices;
};

struct device_stats {
    std::uint32_t id = 0;
    counters of_processes;       ///< on this device
    std::optional<counters> own; ///< of the device itself
};

/// Sums over processes. Counters that hmmctl knows are there even if no process has them.
struct stats {
    std::size_t processes = 0, unreadable = 0;
    counters of_processes;             ///< what is no counter of a device
    std::vector<device_stats> devices; ///< by id
};

/// What was counted since @earlier, null for all that was ever counted. Of processes that have
/// ended since, nothing is known.
stats stats_between(const stats_sample* earlier, const stats_sample& now);

/// Keeps the counters with a name that has one of @parts in it. Throws failure for a part that is
/// in no name. All are kept if there are no parts.
void select_counters(stats& of, const std::vector<std::string>& parts);

struct stats_request {
    pid_t pid = 0;       ///< 0 for all processes and devices
    double interval = 0; ///< seconds, 0 for what was ever counted
    unsigned count = 0;  ///< of intervals, 0 for no limit
    std::vector<std::string> parts;
};

/// @pid is 0 for all processes. @seconds is the length of the interval, if there was one: then the
/// text has no rows of zeros.
json to_json(const stats& of, pid_t pid, std::optional<double> seconds);
std::string text_of(const stats& of, pid_t pid, std::optional<double> seconds);

/// With an interval it prints by itself.
output show_stats(const stats_request& wanted, bool as_json);

} // namespace hmmctl
