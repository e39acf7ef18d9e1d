// SPDX-License-Identifier: MIT
// hmmctl: lists devices and the processes that use them, checks the setup, records and evaluates
// events, and runs benchmarks.
#include "command_line.hpp"
#include "failure.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

namespace {

using namespace hmmctl;

constexpr int failed = 1, used_wrongly = 2;
constexpr double shortest_interval = 0.01, longest_interval = 3600; // seconds

void add_device_commands(CLI::App& app, request& asked) {
    CLI::App& device = *app.add_subcommand("device", "Show devices of the modules");
    device.require_subcommand(1);
    device.add_subcommand("list", "List all devices")->callback([&asked] {
        asked.command = [&asked] { return list_devices(asked.as_json); };
    });
    CLI::App& show = *device.add_subcommand("show", "Show one device and its knobs");
    show.add_option("ID", asked.device, "device id")->required()->check(why_no_number);
    show.callback([&asked] {
        asked.command = [&asked] { return show_device(asked.device, asked.as_json); };
    });
}

void add_interval(CLI::App& command, request& asked) {
    command
        .add_option("--interval", asked.interval,
                    "measure fault rates over this many seconds (0.01 to 3600)")
        ->type_name("SECONDS")
        ->check(why_no_interval);
}

void add_process_commands(CLI::App& app, request& asked) {
    CLI::App& process = *app.add_subcommand("process", "Show processes that use hmmrt");
    process.require_subcommand(1);
    CLI::App& list =
        *process.add_subcommand("list", "List all processes that this user may inspect");
    add_interval(list, asked);
    list.callback([&asked] {
        asked.command = [&asked] { return list_processes(asked.interval, asked.as_json); };
    });
    CLI::App& show = *process.add_subcommand("show", "Show one process");
    show.add_option("PID", asked.pid, "process id")->required()->check(why_no_pid);
    add_interval(show, asked);
    show.callback([&asked] {
        asked.command = [&asked] { return show_process(asked.pid, asked.interval, asked.as_json); };
    });
}

void add_commands(CLI::App& app, request& asked) {
    app.require_subcommand(1);
    app.fallthrough(); // allows --json after the command
    app.set_version_flag("--version", "hmmctl " HMMCTL_VERSION);
    app.add_flag("--json", asked.as_json, "print JSON");
    app.footer(
        "Exit status: 0 for success, 1 if the command failed or doctor found a problem, 2 for "
        "invalid arguments; `trace record` and `profile` return the exit status of COMMAND, or "
        "128 + N if signal N ended it.");
    add_device_commands(app, asked);
    add_process_commands(app, asked);
    add_memory_commands(app, asked);
    add_observing_commands(app, asked);
    add_bench_commands(app, asked);
    add_replay_commands(app, asked);
    app.add_subcommand("doctor", "Check whether programs can use a device, and suggest fixes")
        ->callback([&asked] { asked.command = [&asked] { return run_doctor(asked.as_json); }; });
    add_tree_commands(app, asked);
}

/// Fails if the output couldn't be written, for example because the disk is full.
int print(const output& result) {
    std::fputs(result.notes.c_str(), stderr);
    if (std::fputs(result.text.c_str(), stdout) == EOF || std::fflush(stdout) == EOF) {
        std::fprintf(stderr, "hmmctl: cannot write the result: %s\n", std::strerror(errno));
        return failed;
    }
    return result.status;
}

int run(int argc, char** argv) {
    request asked;
    char** const separator =
        std::find(argv, argv + argc, std::string_view("--")); // what follows is a command
    const bool has_separator = separator != argv + argc;
    if (has_separator) asked.observed.command.assign(separator + 1, argv + argc);
    CLI::App app("inspect and profile hmmrt devices and the processes that use them", "hmmctl");
    add_commands(app, asked);
    try {
        app.parse(static_cast<int>(separator - argv), argv);
        if (has_separator && !asked.takes_command) throw CLI::ExtrasError({"--"});
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : used_wrongly;
    }
    return print(asked.command());
}

} // namespace

namespace hmmctl {

std::string why_no_number(const std::string& text) {
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    return digits && (text == "0" || text[0] != '0') ? "" : "expected a decimal number";
}

std::string why_no_pid(const std::string& text) {
    if (std::string why = why_no_number(text); !why.empty()) return why;
    return CLI::Range(1, std::numeric_limits<pid_t>::max())(text);
}

std::string why_no_interval(const std::string& text) {
    const double seconds = std::strtod(text.c_str(), nullptr);
    if (seconds >= shortest_interval && seconds <= longest_interval) return "";
    return "expected a number of seconds from 0.01 to 3600";
}

} // namespace hmmctl

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hmmctl: %s\n", error.what());
        return failed;
    }
}
