// SPDX-License-Identifier: MIT
#include "paths.hpp"

#include <cerrno>
#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <unistd.h>

namespace hmmcc {

namespace fs = std::filesystem;

namespace {

tool_paths built_paths() {
    return {HMMCC_CLANG,
            HMMCC_CLANG_HEADERS,
            HMMCC_PLUGIN,
            HMMCC_CUDA_HEADERS,
            HMMCC_CUDA_LIBRARY,
            HMMCC_RUNTIME_LIBRARY,
            HMMCC_SHARED_CUDA_LIBRARY,
            HMMCC_SHARED_RUNTIME_LIBRARY};
}

tool_paths installed_paths(const fs::path& folder) {
    const auto place = [&](const char* path) { return (folder / path).lexically_normal(); };
    return {HMMCC_CLANG,
            HMMCC_CLANG_HEADERS,
            place(HMMCC_INSTALLED_PLUGIN),
            place(HMMCC_INSTALLED_CUDA_HEADERS),
            place(HMMCC_INSTALLED_CUDA_LIBRARY),
            place(HMMCC_INSTALLED_RUNTIME_LIBRARY),
            place(HMMCC_INSTALLED_SHARED_CUDA_LIBRARY),
            place(HMMCC_INSTALLED_SHARED_RUNTIME_LIBRARY)};
}

} // namespace

tool_paths find_paths() {
    const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
    const bool is_built = fs::exists(folder / fs::path(HMMCC_PLUGIN).filename());
    tool_paths paths = is_built ? built_paths() : installed_paths(folder);
    for (const std::string& part :
         {paths.clang, paths.plugin, paths.cuda_headers, paths.cuda_library, paths.runtime_library,
          paths.shared_cuda_library, paths.shared_runtime_library})
        if (access(part.c_str(), R_OK) != 0)
            throw std::system_error(errno, std::generic_category(), part);
    return paths;
}

} // namespace hmmcc
