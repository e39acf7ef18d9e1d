// SPDX-License-Identifier: MIT
// Names for addresses of code, from the files that have it.
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
    std::string place;    ///< FILE:LINE, else FILE+OFFSET, else the address
};

/// An instruction of a process, which outlives this.
struct instruction {
    const observed_process& process;
    std::uint64_t ip;
};

/// Returns the names for each of the instructions. Asks addr2line about files that are still there,
/// once for each file, because reading its debug information takes long.
std::vector<symbol> symbols_of(std::span<const instruction> instructions);

/// The same for one instruction.
symbol symbol_of(const observed_process& process, std::uint64_t ip);

/// Also returns the functions into which that is inlined: for each instruction the innermost one
/// first, and at last the one that is called.
std::vector<std::vector<symbol>> inlined_symbols_of(std::span<const instruction> instructions);

/// Returns the address that an ELF file gives to a part of it, as debug information has it; nothing
/// if it is no such file, or nothing of the part is loaded.
std::optional<std::uint64_t> address_in_file(const std::string& path, std::uint64_t offset);

} // namespace hmmctl
