// SPDX-License-Identifier: MIT
// The commands that look at events.
#pragma once

#include "commands.hpp"
#include "event_ring.hpp"

#include <string>
#include <vector>

namespace hmmctl {

/// What is recorded: a process, the whole machine, or a command and its descendants.
struct observation {
    pid_t pid = 0; ///< 0 if it is another
    bool machine = false;
    std::vector<std::string> command;
    std::uint32_t ring_events = default_ring_events;
    double seconds = 0;                 ///< 0 for no limit
    std::uint64_t allocations_from = 0; ///< smallest allocation to record, 0 for none of any size
};

/// The status is that of the command.
output record_trace(const observation& wanted, const std::string& path);
/// Also writes a page for a browser, unless @html is empty.
output report_trace(const std::string& path, bool as_json, const std::string& html);
/// Writes to a file, or to standard output if @to is empty. @format is chrome, json, csv or
/// rocprof-sys.
output export_trace(const std::string& path, const std::string& format, const std::string& to);

/// Files of a profile. Those with empty names are not written.
struct profile_files {
    std::string to;          ///< for the result, else it goes to standard output
    std::string html;        ///< as report_trace() writes it
    std::string rocprof_sys; ///< as export_trace() writes it
};
output profile(const observation& wanted, bool as_json, const profile_files& files);

} // namespace hmmctl
