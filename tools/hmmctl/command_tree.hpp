// SPDX-License-Identifier: MIT
// Generates the completion script and the manual page from hmmctl's commands and options, so that
// they can't get out of sync.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace hmmctl {

struct request;

/// A command with its full name, like `hmmctl trace record`.
struct named_command {
    std::string name;
    const CLI::App* app;
};

/// Returns all commands, parents before their subcommands.
std::vector<named_command> commands_of(const CLI::App& app);

/// Returns the type name of an option or argument (FILE, PID, ...), "" for a flag.
std::string value_of(const CLI::Option& option);

/// Returns the words of a set like KIND:{A,B,C}, as value_of() returns it. Empty if it isn't a set.
std::vector<std::string> words_of_set(const std::string& value);

/// Returns a bash completion script.
std::string completion_of(const CLI::App& app);

/// Returns the manual page for section 1, with the `man` macros of roff.
std::string manual_of(const CLI::App& app);

/// Adds the commands that print these two.
void add_tree_commands(CLI::App& app, request& asked);

} // namespace hmmctl
