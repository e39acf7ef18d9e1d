// SPDX-License-Identifier: MIT
// Compiles and links the files of hmmcc's command line.
#pragma once

#include "options.hpp"

#include <string>

namespace hmmcc {

/// hmmcc's compiler, plugin, headers and libraries.
struct tool_paths {
    std::string clang;
    std::string clang_headers; ///< clang's own builtin headers
    std::string plugin;
    std::string cuda_headers;
    std::string cuda_library;
    std::string runtime_library;
    std::string shared_cuda_library;
    std::string shared_runtime_library;
};

/// For the program in the build folder, finds the files there; otherwise those installed with the
/// program, relative to its current place. Throws std::system_error if one is missing.
tool_paths find_paths();

/// Returns the exit status.
int build(const options& wanted, const tool_paths& paths);

} // namespace hmmcc
