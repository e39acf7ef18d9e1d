// SPDX-License-Identifier: MIT
#include "helper_file.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <initializer_list>
#include <unistd.h>

namespace hmmctl {

namespace fs = std::filesystem;

std::string helper_file(const char* name) {
    const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
    for (const char* place : {".", HMMCTL_HELPERS_INSTALLED})
        if (const fs::path found = folder / place / name; access(found.c_str(), R_OK) == 0)
            return found.lexically_normal();
    throw failure(fmt::format("cannot find {} in {}, nor in {} relative to it", name,
                              folder.string(), HMMCTL_HELPERS_INSTALLED));
}

} // namespace hmmctl
