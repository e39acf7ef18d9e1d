// SPDX-License-Identifier: MIT
// The code that processes have mapped, and names for its addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace hmmctl {

// ---- mappings

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

// ---- names

struct symbol {
    std::string function; ///< "" if it is unknown
    std::string place;    ///< FILE:LINE if known, else FILE+OFFSET, else the address
};

/// An instruction of a process; the process has to outlive this.
struct instruction {
    const observed_process& process;
    std::uint64_t ip;
};

/// Returns the name of each instruction. Runs addr2line once for each file that still exists,
/// because reading debug information takes long.
std::vector<symbol> symbols_of(std::span<const instruction> instructions);

/// Likewise for one instruction.
symbol symbol_of(const observed_process& process, std::uint64_t ip);

/// Also returns inlined functions: for each instruction, the innermost first and the function that
/// was actually called last.
std::vector<std::vector<symbol>> inlined_symbols_of(std::span<const instruction> instructions);

/// Converts an offset in an ELF file to the address that its debug information uses. Returns
/// nothing if it isn't an ELF file, or if the offset isn't in a loaded segment.
std::optional<std::uint64_t> address_in_file(const std::string& path, std::uint64_t offset);

} // namespace hmmctl
