// SPDX-License-Identifier: MIT
// The executable mappings of processes, to find names for instruction addresses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace hmmctl {

/// A part of a file that a process can execute.
struct code_mapping {
    std::uint64_t start = 0, end = 0; ///< addresses; @end is exclusive
    std::uint64_t offset = 0;         ///< of @start in the file
    std::string path;                 ///< "" if it doesn't map a file
};

/// Parses the executable mappings in the format of /proc/PID/maps; skips all other lines.
std::vector<code_mapping> parse_code(std::string_view maps);

/// Returns nullptr if there is no code at this address.
const code_mapping* mapping_of(const std::vector<code_mapping>& code, std::uint64_t ip);

/// A process with recorded events.
struct observed_process {
    std::uint64_t space = 0;
    pid_t pid = 0;
    std::string name; ///< set by the process, so it may be any bytes
    std::vector<code_mapping> code;
};

/// Looks at a process. Members stay empty if we lack permission or the process has ended.
observed_process look_at(std::uint64_t space, pid_t pid, const std::string& proc = "/proc");

} // namespace hmmctl
