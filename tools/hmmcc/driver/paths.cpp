// SPDX-License-Identifier: MIT
#include "build.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <unistd.h>

namespace hmmcc {

namespace fs = std::filesystem;

namespace {

/// Paths relative to the program's folder, in the order of tool_paths, without clang's.
using places = std::array<const char*, 6>;

constexpr places built = {
    HMMCC_PLUGIN,          HMMCC_CUDA_HEADERS,        HMMCC_CUDA_LIBRARY,
    HMMCC_RUNTIME_LIBRARY, HMMCC_SHARED_CUDA_LIBRARY, HMMCC_SHARED_RUNTIME_LIBRARY};
constexpr places installed = {HMMCC_INSTALLED_PLUGIN,
                              HMMCC_INSTALLED_CUDA_HEADERS,
                              HMMCC_INSTALLED_CUDA_LIBRARY,
                              HMMCC_INSTALLED_RUNTIME_LIBRARY,
                              HMMCC_INSTALLED_SHARED_CUDA_LIBRARY,
                              HMMCC_INSTALLED_SHARED_RUNTIME_LIBRARY};

tool_paths from_folder(const fs::path& folder, const places& parts) {
    const auto place = [&](std::size_t i) { return (folder / parts[i]).lexically_normal(); };
    return {HMMCC_CLANG, HMMCC_CLANG_HEADERS, place(0), place(1), place(2), place(3), place(4),
            place(5)};
}

} // namespace

tool_paths find_paths() {
    const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
    const bool is_built = fs::exists(folder / HMMCC_PLUGIN);
    tool_paths paths = from_folder(folder, is_built ? built : installed);
    for (const std::string& part :
         {paths.clang, paths.plugin, paths.cuda_headers, paths.cuda_library, paths.runtime_library,
          paths.shared_cuda_library, paths.shared_runtime_library})
        if (access(part.c_str(), R_OK) != 0)
            throw std::system_error(errno, std::generic_category(), part);
    return paths;
}

} // namespace hmmcc
