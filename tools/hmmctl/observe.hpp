// SPDX-License-Identifier: MIT
// The commands that record and evaluate events.
#pragma once

#include "commands.hpp"
#include "event_ring.hpp"

#include <string>
#include <vector>

namespace hmmctl {

/// What is recorded: a process, the whole machine, or a command and its descendants.
struct observation {
    pid_t pid = 0; ///< 0 if it isn't a process
    bool machine = false;
    std::vector<std::string> command;
    std::uint32_t ring_events = default_ring_events;
    double seconds = 0;                 ///< 0 for no limit
    bool accesses = false;              ///< of the devices, too; only of a command
    std::uint64_t allocations_from = 0; ///< smallest allocation to record; 0 records none
};

/// Returns the command's status.
output record_trace(const observation& wanted, const std::string& path);
/// Also writes an HTML page to the file @html, unless that is empty.
output report_trace(const std::string& path, bool as_json, const std::string& html);
/// Writes to the file @to, or to standard output if that is empty. @format is chrome, json, csv or
/// rocprof-sys.
output export_trace(const std::string& path, const std::string& format, const std::string& to);

/// Files of a profile. Those with empty names aren't written.
struct profile_files {
    std::string to;          ///< the result; without it, that goes to standard output
    std::string html;        ///< see report_trace()
    std::string rocprof_sys; ///< see export_trace()
};
output profile(const observation& wanted, bool as_json, const profile_files& files);

} // namespace hmmctl
