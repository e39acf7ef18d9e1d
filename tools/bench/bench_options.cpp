// SPDX-License-Identifier: MIT
#include "bench.hpp"
#include "command_line.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace hmmctl {
namespace {

constexpr double largest_footprint = 8, quick_footprint = 1.0 / 64;
constexpr unsigned most_repeats = 1000, usual_repeats = 5, quick_repeats = 3;

std::string why_no_footprint(const std::string& text) {
    double part = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
    if (error == std::errc() && end == text.data() + text.size() && part > 0 &&
        part <= largest_footprint)
        return "";
    return "expected a fraction of the device's memory, above 0 and at most 8";
}

std::string why_no_output(const std::string& text) {
    return text.empty() ? "expected a file name" : "";
}

/// Adds an option that takes names, separated by commas or by repeating the option.
void add_names(CLI::App& command, const char* name, std::vector<std::string>& into,
               const std::vector<named>& list, const char* description) {
    command.add_option(name, into, description)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(names_of(list)));
}

/// By default we measure everything except scaling; otherwise only what was requested.
void set_defaults(bench_plan& plan) {
    const bool has_cases = !plan.patterns.empty() || !plan.transfers.empty();
    const bool is_all = !has_cases && plan.peers.empty() && plan.scaling.empty();
    if (has_cases || is_all) {
        if (plan.patterns.empty()) plan.patterns = names_of(bench_patterns());
        if (plan.transfers.empty()) plan.transfers = names_of(bench_transfers());
    }
    if (is_all) plan.peers = names_of(bench_peers());
    if (plan.footprints.empty()) plan.footprints = {plan.quick ? quick_footprint : 0.5};
    if (plan.repeats == 0) plan.repeats = plan.quick ? quick_repeats : usual_repeats;
}

/// Removes duplicates and keeps the order.
template <class Value>
void keep_first(std::vector<Value>& values) {
    auto end = values.begin();
    for (auto next = values.begin(); next != values.end(); ++next)
        if (std::find(values.begin(), end, *next) == end) *end++ = *next;
    values.erase(end, values.end());
}

void add_measuring(CLI::App& bench, request& asked) {
    bench_plan& plan = asked.measured;
    bench.add_flag("--list", asked.lists, "list what can be measured, without measuring");
    add_names(bench, "--pattern", plan.patterns, bench_patterns(),
              "access patterns (default: all)");
    add_names(bench, "--transfer", plan.transfers, bench_transfers(),
              "ways to get data to the device (default: all)");
    add_names(
        bench, "--peer", plan.peers, bench_peers(),
        "other operations to measure (default: all, unless patterns, transfers or scaling are "
        "selected)");
    add_names(bench, "--scaling", plan.scaling, bench_scalings(),
              "measure how throughput scales with the number of these (default: none)");
    bench
        .add_option("--footprint", plan.footprints,
                    "data sizes, as fractions of the device's memory, up to 8 (default: 0.5)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("PART")
        ->check(why_no_footprint);
    bench.add_option("--pages", plan.pages, "page size of the patterns' data (default: single)")
        ->check(CLI::IsMember(names_of(bench_pages())));
    bench.add_option("--repeats", plan.repeats, "samples per case (default: 5)")
        ->type_name("N")
        ->check(why_no_number)
        ->check(CLI::Range(1u, most_repeats));
    bench.add_flag("--quick", plan.quick, "only use 1/64 of the device's memory and 3 samples");
    bench.add_option("-o,--output", asked.to, "also write the JSON to a file")
        ->type_name("FILE")
        ->check(why_no_output);
    bench.callback([&bench, &asked] {
        if (!bench.get_subcommands().empty()) return;
        if (asked.lists) {
            asked.command = [&asked] { return list_bench(asked.as_json); };
            return;
        }
        set_defaults(asked.measured);
        keep_first(asked.measured.patterns);
        keep_first(asked.measured.transfers);
        keep_first(asked.measured.peers);
        keep_first(asked.measured.scaling);
        keep_first(asked.measured.footprints);
        asked.command = [&asked] { return run_bench(asked.measured, asked.as_json, asked.to); };
    });
}

/// Rejects options of bench itself, which only apply to measurements, for a subcommand.
void refuse_measuring(const CLI::App& bench, const CLI::App& command) {
    for (const CLI::Option* option : bench.get_options())
        if (option->count() > 0)
            throw CLI::ValidationError(command.get_name(),
                                       option->get_name() + " is only valid for measurements");
}

void add_compare(CLI::App& bench, request& asked) {
    CLI::App& command = *bench.add_subcommand("compare", "Compare two result files");
    command.add_option("FILE", asked.files, "result files before and after a change")
        ->required()
        ->expected(2)
        ->type_name("FILE")
        ->check(why_no_output);
    command.callback([&bench, &command, &asked] {
        refuse_measuring(bench, command);
        asked.command = [&asked] {
            return compare_bench(asked.files[0], asked.files[1], asked.as_json);
        };
    });
}

void add_plot(CLI::App& bench, request& asked) {
    CLI::App& command = *bench.add_subcommand("plot", "Plot a result file");
    command.add_option("FILE", asked.file, "result file")
        ->required()
        ->type_name("FILE")
        ->check(why_no_output);
    command.add_option("-o,--output", asked.to, "file to write (.svg or .png)")
        ->required()
        ->type_name("FILE")
        ->check(why_no_output);
    command.callback([&bench, &command, &asked] {
        refuse_json(command, asked);
        refuse_measuring(bench, command);
        asked.command = [&asked] { return plot_bench(asked.file, asked.to); };
    });
}

} // namespace

void add_bench_commands(CLI::App& app, request& asked) {
    CLI::App& bench =
        *app.add_subcommand("bench", "Measure the performance of a device and its unified memory");
    add_measuring(bench, asked);
    add_compare(bench, asked);
    add_plot(bench, asked);
}

} // namespace hmmctl
