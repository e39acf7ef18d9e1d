// SPDX-License-Identifier: MIT
// What is made from the commands and options that hmmctl has, so that it cannot differ from them.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace hmmctl {

struct request;

/// A command with its name from the top: `hmmctl trace record`.
struct named_command {
    std::string name;
    const CLI::App* app;
};

/// Returns all commands, those that have others before these.
std::vector<named_command> commands_of(const CLI::App& app);

/// Returns what an option takes or what an argument is called: FILE, PID, ...; "" for a flag.
std::string value_of(const CLI::Option& option);

/// Returns the words of a set, from what an option takes: KIND:{A,B,C}. None if it is no set.
std::vector<std::string> words_of_set(const std::string& value);

/// Returns a script for bash that completes command lines.
std::string completion_of(const CLI::App& app);

/// Returns the manual page of section 1, in the language of roff's macros `man`.
std::string manual_of(const CLI::App& app);

/// Adds the commands that print both.
void add_tree_commands(CLI::App& app, request& asked);

} // namespace hmmctl
