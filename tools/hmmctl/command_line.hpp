// SPDX-License-Identifier: MIT
// The command line: what it asks for, and the completion script and the manual page that we
// generate from its commands and options, so that they can't get out of sync.
#pragma once

#include "bench_plan.hpp"
#include "observe.hpp"
#include "replay_plan.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace hmmctl {

/// The parsed command line.
struct request {
    std::function<output()> command;
    bool as_json = false;
    double interval = 0;
    unsigned device = 0;
    pid_t pid = 0;
    observation observed; ///< its command is what follows `--`
    bool takes_command = false;
    std::string file, format, to, html, rocprof_sys;
    std::vector<std::string> files;
    unsigned count = 0;
    std::vector<std::string> parts; ///< parts of counter names
    bench_plan measured;
    replay_plan replayed;
    std::vector<std::string> sizes;
    bool lists = false;
    bool all = false;
    std::size_t columns = 0;
};

/// CLI11 would accept an empty text as 0, and read a leading 0 as an octal number.
std::string why_no_number(const std::string& text);
std::string why_no_pid(const std::string& text);
/// The range check also rejects NaN.
std::string why_no_interval(const std::string& text);

/// Throws if --json was given. For commands that have their own output format, or none.
void refuse_json(const CLI::App& command, const request& asked);

/// Adds trace, profile, top and stats.
void add_observing_commands(CLI::App& app, request& asked);
/// Adds bench.
void add_bench_commands(CLI::App& app, request& asked);
/// Adds replay.
void add_replay_commands(CLI::App& app, request& asked);
/// Adds the commands about the memory of a process.
void add_memory_commands(CLI::App& app, request& asked);

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
