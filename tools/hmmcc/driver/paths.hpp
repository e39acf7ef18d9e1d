// SPDX-License-Identifier: MIT
// Paths of hmmcc's compiler, plugin, headers and libraries.
#pragma once

#include <string>

namespace hmmcc {

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

} // namespace hmmcc
