// SPDX-License-Identifier: MIT
/*
 * Maps addresses to source lines, using the debug information of a program
 * (.debug_line of DWARF 2 to 5).
 *
 * The reader avoids the heap and checks all lengths and offsets.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace hmmrt {

/// The bytes of a section; `data` is NULL if the section is missing.
struct section_bytes {
    const unsigned char* data = nullptr;
    std::size_t size = 0;
};

struct line_sections {
    section_bytes line;     ///< .debug_line
    section_bytes line_str; ///< .debug_line_str
    section_bytes str;      ///< .debug_str
};

struct source_line {
    char file[256] = "";
    unsigned line = 0; ///< 0: unknown
};

/// Finds the line of @address, an address as in the file, before relocation.
source_line find_line(const line_sections& sections, std::uint64_t address);

} // namespace hmmrt
