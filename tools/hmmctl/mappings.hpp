// SPDX-License-Identifier: MIT
// The mappings of a process, as /proc/PID/maps and /proc/PID/smaps list them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hmmctl {

struct mapping {
    std::uint64_t start = 0, end = 0; ///< addresses; @end is behind it
    std::uint64_t offset = 0;         ///< of @start in the file
    bool readable = false, executable = false;
    std::string name; ///< path or name like `[heap]`: any bytes; "" without one
    std::optional<std::uint64_t> resident_bytes; ///< if the text has it, as smaps does
};

/// Returns the mappings in a text like maps or smaps. Lines of neither kind are skipped.
std::vector<mapping> parse_mappings(std::string_view text);

/// Is it a mapping of a memory object?
bool is_object(const mapping& of);

/// Is it memory of the process alone, of no file: heap, stack, and other anonymous memory?
bool is_anonymous(const mapping& of);

} // namespace hmmctl
