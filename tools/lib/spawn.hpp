// SPDX-License-Identifier: MIT
// Starts programs, and waits for them.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tools {

/// What a program gets instead of what this one has.
struct start_options {
    const char* path = nullptr; ///< executable, if it isn't the first word of the command
    std::vector<std::string> environment = {}; ///< as NAME=VALUE; empty for ours
    int in = -1, out = -1, err = -1;           ///< descriptors; -1 for ours
    const sigset_t* blocked = nullptr;         ///< signals
    bool new_group = false;                    ///< start a process group
};

/// Starts a program, which PATH may find. It doesn't copy this process's memory, not even lazily.
/// Throws std::system_error with the name of the program.
pid_t start(std::vector<std::string> command, start_options how = {});

/// Waits for a child to end. Returns its exit status, or 128 + N if signal N killed it. Throws
/// std::system_error.
int wait_for(pid_t child);

struct finished {
    int status = 0; ///< see wait_for()
    std::string output;
};

/// Starts a program, waits for it, and returns its standard output. Throws std::system_error.
finished run(std::vector<std::string> command, start_options how = {});

/// Returns our environment with some variables added or replaced.
std::vector<std::string> environment_with(std::vector<std::string> variables);

} // namespace tools
