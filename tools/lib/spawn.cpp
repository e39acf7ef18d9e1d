// SPDX-License-Identifier: MIT
#include "spawn.hpp"

#include "files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <optional>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tools {
namespace {

constexpr int signalled = 128; // shells add this to the signal that killed a command

[[noreturn]] void fail(int error, const std::string& what) {
    throw std::system_error(error, std::generic_category(), what);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// Returns `NAME=`.
std::string_view name_in(std::string_view variable) {
    return variable.substr(0, variable.find('=') + 1);
}

} // namespace

pid_t start(std::vector<std::string> command, start_options how) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    const std::array<int, 3> standard = {how.in, how.out, how.err};
    for (int number = 0; number < 3; number++)
        if (standard[number] >= 0)
            posix_spawn_file_actions_adddup2(&files, standard[number], number);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    int flags = how.new_group ? POSIX_SPAWN_SETPGROUP : 0;
    if (how.blocked) {
        flags |= POSIX_SPAWN_SETSIGMASK;
        posix_spawnattr_setsigmask(&attributes, how.blocked);
    }
    posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
    const std::vector<char*> variables = pointers_to(how.environment);
    pid_t child = -1;
    const int error = posix_spawnp(&child, how.path ? how.path : command[0].c_str(), &files,
                                   &attributes, pointers_to(command).data(),
                                   how.environment.empty() ? environ : variables.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) fail(error, command[0]);
    return child;
}

int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) fail(errno, "cannot wait for the command");
    return WIFSIGNALED(status) ? signalled + WTERMSIG(status) : WEXITSTATUS(status);
}

finished run(std::vector<std::string> command, start_options how) {
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno, "cannot create a pipe");
    const descriptor from(ends[0]);
    std::optional<descriptor> to(ends[1]);
    how.out = to->get();
    const pid_t child = start(std::move(command), std::move(how));
    to.reset();
    std::string output = read_all(from.get()).value_or("");
    return {wait_for(child), std::move(output)};
}

std::vector<std::string> environment_with(std::vector<std::string> variables) {
    const std::size_t given = variables.size();
    for (char** next = environ; *next != nullptr; next++) {
        const std::string one = *next;
        const auto end = variables.begin() + static_cast<std::ptrdiff_t>(given);
        if (std::none_of(variables.begin(), end,
                         [&](const std::string& other) { return name_in(one) == name_in(other); }))
            variables.push_back(one);
    }
    return variables;
}

} // namespace tools
