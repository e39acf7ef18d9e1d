// SPDX-License-Identifier: MIT
// Names for code addresses, from the mapped files.
#pragma once

#include "code_map.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hmmctl {

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
