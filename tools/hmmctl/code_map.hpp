// SPDX-License-Identifier: MIT
// Where the code of processes is, so that addresses of instructions get names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace hmmctl {

/// A part of a file that a process can execute.
struct code_mapping {
    std::uint64_t start = 0, end = 0; ///< addresses; @end is behind it
    std::uint64_t offset = 0;         ///< of @start in the file
    std::string path;                 ///< "" if it is of no file
};

/// Returns the executable mappings of a text like /proc/PID/maps; lines that are none are skipped.
std::vector<code_mapping> parse_code(std::string_view maps);

/// Returns nullptr if there is no code at that address.
const code_mapping* mapping_of(const std::vector<code_mapping>& code, std::uint64_t ip);

/// A process of which there are events.
struct observed_process {
    std::uint64_t space = 0;
    pid_t pid = 0;
    std::string name; ///< as the process set it: any bytes
    std::vector<code_mapping> code;
};

/// Looks at a process. What it may not see, or what has ended, is left empty.
observed_process look_at(std::uint64_t space, pid_t pid, const std::string& proc = "/proc");

} // namespace hmmctl
