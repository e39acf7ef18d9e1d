// SPDX-License-Identifier: MIT
// The mappings of a process, as /proc/PID/maps and /proc/PID/smaps list them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tools {

struct mapping {
    std::uint64_t start = 0, end = 0; ///< addresses; @end is exclusive
    std::uint64_t offset = 0;         ///< of @start in the file
    bool readable = false, executable = false;
    std::string name; ///< path, or a name like `[heap]`; may be any bytes; "" if it has none
    // only from smaps
    std::optional<std::uint64_t> resident_bytes;
    std::string flags; ///< VmFlags, each after a space
};

/// Parses mappings in the format of maps or smaps. Skips other lines.
std::vector<mapping> parse_mappings(std::string_view text);

/// Is it a mapping of a memory object?
bool is_object(const mapping& of);

/// Is it anonymous memory, such as heap, stack or shared anonymous memory?
bool is_anonymous(const mapping& of);

} // namespace tools
