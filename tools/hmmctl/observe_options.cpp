// SPDX-License-Identifier: MIT
#include "allocation_file.hpp"
#include "command_line.hpp"
#include "stats.hpp"
#include "top.hpp"

#include <bit>
#include <charconv>
#include <limits>
#include <system_error>

namespace hmmctl {
namespace {

constexpr double default_top_interval = 2; // seconds
/// Faults have the granularity of pages, so we couldn't tell smaller allocations apart.
constexpr std::uint64_t smallest_allocation = 4096, largest_allocation = std::uint64_t{1} << 47;

std::string why_no_ring_size(const std::string& text) {
    std::uint32_t events = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), events);
    if (error == std::errc() && end == text.data() + text.size() && std::has_single_bit(events) &&
        events >= HMMRT_EVENTS_MIN && events <= HMMRT_EVENTS_MAX)
        return "";
    return "expected a power of two from 64 to 262144";
}

/// An empty path means that the option wasn't given, so it can't be its value.
std::string why_no_path(const std::string& text) {
    return text.empty() ? "expected a file name" : "";
}

void add_ring_options(CLI::App& command, request& asked) {
    command
        .add_option("--events", asked.observed.ring_events,
                    "events that fit into the ring, a power of two from 64 to 262144 (default: "
                    "65536; with --accesses 262144)")
        ->type_name("N")
        ->check(why_no_ring_size);
    command
        .add_option("--seconds", asked.observed.seconds,
                    "record for at most this long (0.01 to 3600); a COMMAND keeps running")
        ->type_name("SECONDS")
        ->check(why_no_interval);
}

std::string why_no_allocation_size(const std::string& text) {
    if (std::string why = why_no_number(text); !why.empty()) return why;
    return CLI::Range(smallest_allocation, largest_allocation)(text);
}

/// Returns the option that enables recording allocations.
CLI::Option* add_allocation_options(CLI::App& command, request& asked) {
    CLI::Option* const wanted = command.add_flag_callback(
        "--allocations",
        [&asked] {
            if (asked.observed.allocations_from == 0)
                asked.observed.allocations_from = default_least_allocation;
        },
        "also record where COMMAND allocates memory");
    command
        .add_option("--least-bytes", asked.observed.allocations_from,
                    "only record allocations of at least this size, 4096 to 2^47 (default: 65536)")
        ->type_name("BYTES")
        ->check(why_no_allocation_size)
        ->needs(wanted);
    return wanted;
}

void add_page_option(CLI::App& command, request& asked) {
    command.add_option("--html", asked.html, "also write an HTML report to this file")
        ->type_name("FILE")
        ->check(why_no_path);
}

void add_record(CLI::App& trace, request& asked) {
    CLI::App& record = *trace.add_subcommand(
        "record", "Record events of a process, the whole machine or a COMMAND to a file");
    asked.file = "hmmctl.trace";
    record.footer("Put the COMMAND after `--`: hmmctl trace record -- COMMAND ARGS...");
    record.add_option("-o,--output", asked.file, "file to write (default: hmmctl.trace)")
        ->type_name("FILE")
        ->check(why_no_path);
    record.add_option("--pid", asked.observed.pid, "record this process until it exits")
        ->type_name("PID")
        ->check(why_no_pid);
    record.add_flag("--machine", asked.observed.machine, "record all processes");
    add_ring_options(record, asked);
    CLI::Option* const allocations = add_allocation_options(record, asked);
    record.add_flag("--accesses", asked.observed.accesses,
                    "also record which pages the devices of COMMAND use: slow");
    record.callback([&asked, &record, allocations] {
        const observation& wanted = asked.observed;
        refuse_json(record, asked);
        if ((wanted.pid != 0) + wanted.machine + !wanted.command.empty() != 1)
            throw CLI::ValidationError(
                "record", "exactly one of --pid, --machine and -- COMMAND is required");
        if (allocations->count() != 0 && wanted.command.empty())
            throw CLI::ValidationError("record", "--allocations requires -- COMMAND");
        if (wanted.accesses && wanted.command.empty())
            throw CLI::ValidationError("record", "--accesses requires -- COMMAND");
        if (wanted.accesses && record.get_option("--events")->count() == 0)
            asked.observed.ring_events = HMMRT_EVENTS_MAX;
        asked.takes_command = !wanted.command.empty();
        asked.command = [&asked] { return record_trace(asked.observed, asked.file); };
    });
}

void add_report(CLI::App& trace, request& asked) {
    CLI::App& report = *trace.add_subcommand("report", "Summarize a recording");
    report.add_option("FILE", asked.file, "recording of `trace record`")
        ->required()
        ->type_name("FILE")
        ->check(why_no_path);
    add_page_option(report, asked);
    report.callback([&asked] {
        asked.command = [&asked] { return report_trace(asked.file, asked.as_json, asked.html); };
    });
}

void add_export(CLI::App& trace, request& asked) {
    CLI::App& command = *trace.add_subcommand("export", "Convert a recording to another format");
    asked.format = "chrome";
    command.add_option("FILE", asked.file, "recording of `trace record`")
        ->required()
        ->type_name("FILE")
        ->check(why_no_path);
    command
        .add_option("--format", asked.format,
                    "chrome (the default, also for Perfetto), json, csv or rocprof-sys")
        ->check(CLI::IsMember({"chrome", "json", "csv", "rocprof-sys"}));
    command.add_option("-o,--output", asked.to, "write to this file instead of standard output")
        ->type_name("FILE")
        ->check(why_no_path);
    command.callback([&asked, &command] {
        refuse_json(command, asked);
        asked.command = [&asked] { return export_trace(asked.file, asked.format, asked.to); };
    });
}

void add_profile(CLI::App& app, request& asked) {
    CLI::App& command =
        *app.add_subcommand("profile", "Run a COMMAND and report its faults and migrations");
    command.footer("Put the COMMAND after `--`: hmmctl profile -- COMMAND ARGS...");
    command
        .add_option("-o,--output", asked.to,
                    "write the result to this file instead of standard output")
        ->type_name("FILE")
        ->check(why_no_path);
    add_page_option(command, asked);
    command
        .add_option("--rocprof-sys", asked.rocprof_sys,
                    "also write a summary in ROCm Systems Profiler's format to this file")
        ->type_name("FILE")
        ->check(why_no_path);
    add_ring_options(command, asked);
    add_allocation_options(command, asked);
    command.callback([&asked] {
        if (asked.observed.command.empty())
            throw CLI::ValidationError("profile", "-- COMMAND is required");
        asked.takes_command = true;
        asked.command = [&asked] {
            return profile(asked.observed, asked.as_json,
                           {asked.to, asked.html, asked.rocprof_sys});
        };
    });
}

/// Returns the option --interval.
CLI::Option* add_repetition(CLI::App& command, request& asked, const char* interval) {
    CLI::Option* const option = command.add_option("--interval", asked.interval, interval)
                                    ->type_name("SECONDS")
                                    ->check(why_no_interval);
    command.add_option("--count", asked.count, "stop after this many intervals")
        ->type_name("N")
        ->check(why_no_number)
        ->check(CLI::Range(1u, std::numeric_limits<unsigned>::max()));
    return option;
}

void add_top(CLI::App& app, request& asked) {
    CLI::App& command = *app.add_subcommand("top", "Show a live table of processes");
    add_repetition(command, asked, "seconds between updates (0.01 to 3600, default: 2)");
    command.callback([&asked, &command] {
        refuse_json(command, asked);
        asked.command = [&asked] {
            return show_top(asked.interval > 0 ? asked.interval : default_top_interval,
                            asked.count);
        };
    });
}

void add_stats(CLI::App& app, request& asked) {
    CLI::App& command = *app.add_subcommand(
        "stats", "Show the counters of a process, or the totals of all processes and devices");
    command.add_option("PID", asked.pid, "process id")->check(why_no_pid);
    CLI::Option* const interval = add_repetition(
        command, asked, "keep showing changes over this many seconds (0.01 to 3600)");
    command.get_option("--count")->needs(interval);
    command
        .add_option("--filter", asked.parts, "only show counters whose names contain one of these")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("PART")
        ->check([](const std::string& part) {
            return part.empty() ? "expected a part of a name" : std::string();
        });
    command.callback([&asked] {
        asked.command = [&asked] {
            return show_stats({asked.pid, asked.interval, asked.count, asked.parts}, asked.as_json);
        };
    });
}

} // namespace

void add_observing_commands(CLI::App& app, request& asked) {
    CLI::App& trace = *app.add_subcommand("trace", "Record and report events of processes");
    trace.require_subcommand(1);
    add_record(trace, asked);
    add_report(trace, asked);
    add_export(trace, asked);
    add_profile(app, asked);
    add_top(app, asked);
    add_stats(app, asked);
}

} // namespace hmmctl
