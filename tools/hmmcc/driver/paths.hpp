// SPDX-License-Identifier: MIT
// Where the parts of hmmcc are.
#pragma once

#include <string>

namespace hmmcc {

struct tool_paths {
    std::string clang;
    std::string clang_headers; ///< of the compiler itself
    std::string plugin;
    std::string cuda_headers;
    std::string cuda_library;
    std::string runtime_library;
    std::string shared_cuda_library;
    std::string shared_runtime_library;
};

/// Those of the build folder for the program there; otherwise clang, and the parts that are
/// installed with this program, wherever that is now. Throws std::system_error if one is missing.
tool_paths find_paths();

} // namespace hmmcc
