// SPDX-License-Identifier: MIT
/*
 * Names of code addresses, for messages: the function from the symbol table of
 * the file that is mapped there, source file and line from its debug
 * information.
 *
 * Uses neither the heap nor locks of libc and of the loader: a lane that failed
 * may hold them.
 */
#pragma once

#include "line_table.hpp"

#include <cstdint>

namespace hmmrt {

struct code_place {
    char object[256] = "";    ///< path of the mapped file; empty: none
    char function[512] = "";  ///< as the linker knows it; empty: no symbol
    std::uint64_t offset = 0; ///< in the function, or in the file if there is none
    source_line source;
};

/// @address is in this process.
code_place find_code(std::uint64_t address);

/// True if the file is part of the implementation: the C and C++ libraries, the
/// loader and this library.
bool is_system_object(const char* path);

} // namespace hmmrt
