// SPDX-License-Identifier: MIT
// What a command line asks for.
#pragma once

#include "bench_plan.hpp"
#include "observe.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace hmmctl {

struct request {
    std::function<output()> command;
    bool as_json = false;
    double interval = 0;
    unsigned device = 0;
    pid_t pid = 0;
    observation observed; ///< its command is what stands behind `--`
    bool takes_command = false;
    std::string file, format, to, html, rocprof_sys;
    std::vector<std::string> files;
    unsigned count = 0;
    std::vector<std::string> parts; ///< of names of counters
    bench_plan measured;
    bool lists = false;
    bool all = false;
    std::size_t columns = 0;
};

/// The library takes an empty text for 0, and a leading 0 for an octal number.
std::string why_no_number(const std::string& text);
std::string why_no_pid(const std::string& text);
/// Also refuses what is not a number, in the sense of floating point.
std::string why_no_interval(const std::string& text);

/// For commands that write a format of their own, or none. Throws if JSON is asked for.
void refuse_json(const CLI::App& command, const request& asked);

/// Adds trace, profile, top and stats.
void add_observing_commands(CLI::App& app, request& asked);
/// Adds bench.
void add_bench_commands(CLI::App& app, request& asked);

/// Adds what is about the memory of one process.
void add_memory_commands(CLI::App& app, request& asked);

} // namespace hmmctl
