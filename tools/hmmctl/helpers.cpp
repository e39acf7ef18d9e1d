// SPDX-License-Identifier: MIT
#include "helpers.hpp"

#include "failure.hpp"
#include "lib/files.hpp"
#include "lib/spawn.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace hmmctl {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_to(const char* what) {
    throw failure(fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

/// Returns a memory file with this text, positioned at its start.
tools::descriptor file_with(const std::string& text) {
    tools::descriptor file(memfd_create("hmmctl input", MFD_CLOEXEC));
    if (file.get() < 0) fail_to("create a memory file");
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t wrote = write(file.get(), text.data() + done, text.size() - done);
        if (wrote < 0) fail_to("write a memory file");
        done += static_cast<std::size_t>(wrote);
    }
    if (lseek(file.get(), 0, SEEK_SET) != 0) fail_to("read a memory file");
    return file;
}

} // namespace

std::string helper_file(const char* name) {
    const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
    for (const char* place : {".", HMMCTL_HELPERS_INSTALLED})
        if (const fs::path found = folder / place / name; access(found.c_str(), R_OK) == 0)
            return found.lexically_normal();
    throw failure(fmt::format("cannot find {} in {}, nor in {} relative to it", name,
                              folder.string(), HMMCTL_HELPERS_INSTALLED));
}

std::string output_of(const std::vector<std::string>& command, const std::string& input,
                      const std::string& if_failed, const std::string& if_missing) {
    const tools::descriptor in = file_with(input);
    tools::finished done;
    try {
        done = tools::run(command, {.in = in.get()});
    } catch (const std::system_error& error) {
        std::fprintf(stderr, "hmmctl: cannot start %s: %s\n", command[0].c_str(),
                     error.code().message().c_str());
        throw failure(if_missing);
    }
    constexpr int signalled = 128;
    if (done.status > signalled && done.status <= signalled + SIGRTMAX)
        throw failure(fmt::format("signal {} killed {}", done.status - signalled, command[0]));
    if (done.status != 0) throw failure(if_failed);
    return std::move(done.output);
}

} // namespace hmmctl
