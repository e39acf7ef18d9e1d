// SPDX-License-Identifier: MIT
// The processes that use hmmrt, as /proc shows them to this user.
#pragma once

#include "fdinfo.hpp"
#include "lib/files.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace hmmctl {

/// An open file of a space, and a process that has it.
struct space_file {
    pid_t holder = 0;
    int fd = -1;
};

struct process {
    pid_t pid = 0;
    uid_t uid = 0;
    std::string name; ///< set by the process, so it may be any bytes
    space mirrored;
    space_file file = {};
};

struct process_scan {
    std::vector<process> processes; ///< by pid
    std::size_t unreadable = 0;     ///< number of processes that we may not look at
};

/// Finds all processes that have a space. A process that ends during the search may be left out.
/// @proc is where procfs is mounted.
process_scan scan_processes(const std::string& proc = "/proc");

/// Returns the space with this id, nullptr if there is none.
const space* space_in(const process_scan& scan, std::uint64_t id);

/// Finds the space of a process. Throws failure if there is no such process, if it has no space, or
/// if we may not look at it.
process find_process(pid_t pid, const std::string& proc = "/proc");

/// Duplicates a file of another process, which takes the right to trace it. @to_do says in messages
/// what for. Throws failure if we lack that right or the process has ended.
tools::descriptor open_file(const space_file& wanted, const char* to_do);

/// Does the process have a file of its own space? False if we may not look at it.
bool has_space(pid_t pid, const std::string& proc = "/proc");

} // namespace hmmctl
