// SPDX-License-Identifier: MIT
#include "command_line.hpp"
#include "memory.hpp"
#include "residency.hpp"

namespace hmmctl {
namespace {

void add_pid(CLI::App& command, request& asked) {
    command.add_option("PID", asked.pid, "process id")->required()->check(why_no_pid);
}

void add_range(CLI::App& app, request& asked) {
    CLI::App& range = *app.add_subcommand("range", "Show memory ranges of a process");
    range.require_subcommand(1);
    CLI::App& list =
        *range.add_subcommand("list", "List ranges with advice or with pages on a device");
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
        *app.add_subcommand("residency", "Draw a map of the locations of a process's pages");
    add_pid(command, asked);
    command.add_flag("--all", asked.all, "include file mappings that are only in system memory");
    command
        .add_option("--width", asked.columns,
                    "width in columns, 40 to 1000 (default: that of the terminal, or 80)")
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
