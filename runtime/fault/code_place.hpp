// SPDX-License-Identifier: MIT
/*
 * Resolves code addresses for messages: to a function, with the symbol table of
 * the file mapped there, and to a source file and line, with its debug
 * information.
 *
 * We avoid the heap and the locks of libc and the loader, because a lane that
 * failed may hold them.
 */
#pragma once

#include "fault/line_table.hpp"

#include <cstdint>

namespace hmmrt {

struct code_place {
    char object[256] = "";    ///< path of the mapped file; empty if there isn't one
    char function[512] = "";  ///< mangled; empty if there is no symbol
    std::uint64_t offset = 0; ///< into the function, or into the file if there is none
    source_line source;
};

/// @address is in this process.
code_place find_code(std::uint64_t address);

/// True if the file is part of the implementation: the C and C++ libraries, the
/// loader and this library.
bool is_system_object(const char* path);

} // namespace hmmrt
