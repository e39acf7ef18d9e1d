// SPDX-License-Identifier: MIT
#include "memory.hpp"
#include "request.hpp"
#include "residency.hpp"

namespace hmmctl {
namespace {

void add_pid(CLI::App& command, request& asked) {
    command.add_option("PID", asked.pid, "id of the process")->required()->check(why_no_pid);
}

void add_range(CLI::App& app, request& asked) {
    CLI::App& range = *app.add_subcommand("range", "Ranges of the memory of a process");
    range.require_subcommand(1);
    CLI::App& list = *range.add_subcommand(
        "list", "List those with advice, and those that a device is concerned with");
    add_pid(list, asked);
    list.callback(
        [&asked] { asked.command = [&asked] { return list_ranges(asked.pid, asked.as_json); }; });
}

std::string why_no_width(const std::string& text) {
    if (std::string why = why_no_number(text); !why.empty()) return why;
    return CLI::Range(least_columns, most_columns)(text);
}

void add_residency(CLI::App& app, request& asked) {
    CLI::App& command =
        *app.add_subcommand("residency", "Draw a map of where the pages of a process are");
    add_pid(command, asked);
    command.add_flag("--all", asked.all, "show files in system memory, too");
    command
        .add_option("--width", asked.columns,
                    "columns to draw in, 40 to 1000; those of the terminal, or 80")
        ->type_name("N")
        ->check(why_no_width);
    command.callback([&asked] {
        asked.command = [&asked] {
            return show_residency(asked.pid, asked.all, asked.columns, asked.as_json);
        };
    });
}

} // namespace

void add_memory_commands(CLI::App& app, request& asked) {
    add_range(app, asked);
    add_residency(app, asked);
}

} // namespace hmmctl
