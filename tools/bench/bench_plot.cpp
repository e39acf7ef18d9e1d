// SPDX-License-Identifier: MIT
#include "bench_plan.hpp"
#include "bench_result.hpp"
#include "failure.hpp"
#include "plot.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hmmctl {
namespace {

constexpr unsigned width = 1000, panel_height = 360, title_height = 40;

template <class Value>
void add_once(std::vector<Value>& values, const Value& value) {
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

/// Does every pattern with this footprint have a case with this transfer?
bool all_have(const bench_result& result, double footprint, std::string_view transfer) {
    return std::all_of(result.cases.begin(), result.cases.end(), [&](const bench_case& of) {
        return of.footprint != footprint || result.find(of.pattern, transfer, footprint) != nullptr;
    });
}

enum class axis { ratio, milliseconds, microseconds, per_second };

/// Returns an axis label, which depends on the clock.
const char* axis_of(const bench_result& result, axis of) {
    static constexpr const char* in_time[] = {"time / time with prefetch", "time [ms]", "time [us]",
                                              "pages / s"};
    static constexpr const char* in_instructions[] = {
        "instructions / those with prefetch", "millions of instructions",
        "thousands of instructions", "pages / 1000000000 instructions"};
    const auto at = static_cast<std::size_t>(of);
    return result.clock == clock_of_instructions ? in_instructions[at] : in_time[at];
}

/// Returns a case's value and quartiles, or placeholders that gnuplot skips if it wasn't measured.
std::string bar_of(const bench_case* of, double unit) {
    if (of == nullptr) return " - - -";
    const times taken = of->until_result();
    return fmt::format(" {:.6g} {:.6g} {:.6g}", taken.median() / unit, taken.lower() / unit,
                       taken.upper() / unit);
}

/// Returns a panel with a group of bars for each pattern, and in it a bar for each transfer.
std::string cases_panel(const bench_result& result, double footprint, unsigned number) {
    std::vector<std::string> patterns, transfers;
    for (const bench_case& of : result.cases) {
        if (of.footprint != footprint) continue;
        add_once(patterns, of.pattern);
        add_once(transfers, of.transfer);
    }
    const bool relative = all_have(result, footprint, "prefetch");
    std::string script = fmt::format("$cases{} << END\n", number);
    for (const std::string& pattern : patterns) {
        const double unit =
            relative ? result.find(pattern, "prefetch", footprint)->until_result().median() : 1e-3;
        script += cell_of(pattern);
        for (const std::string& transfer : transfers)
            script += bar_of(result.find(pattern, transfer, footprint), unit);
        script += '\n';
    }
    script += fmt::format("END\nset title 'footprint {:.3g} of the device''s memory'\n"
                          "set ylabel '{}'\nset style data histograms\n"
                          "set style histogram errorbars gap 1\nplot",
                          footprint, axis_of(result, relative ? axis::ratio : axis::milliseconds));
    for (std::size_t i = 0; i < transfers.size(); i++)
        script +=
            fmt::format("{} $cases{} using {}:{}:{}{} title {}", i > 0 ? "," : "", number,
                        3 * i + 2, 3 * i + 3, 3 * i + 4, i == 0 ? ":xtic(1)" : "",
                        in_quotes(transfers[i] == cpu_loop ? "loop on the CPU" : transfers[i]));
    return script + '\n';
}

/// Returns the plot command for a data block whose lines have position, name, value and quartiles.
std::string bars_of(const char* block) {
    return fmt::format("plot ${0} using 1:3:(0.7):xtic(2) with boxes notitle linetype 1,"
                       " ${0} using 1:3:4:5 with yerrorbars notitle linetype -1 pointtype 0\n",
                       block);
}

std::string peers_panel(const bench_result& result) {
    std::string script = "$peers << END\n";
    unsigned place = 0;
    for (const bench_peer& of : result.peers) {
        if (!of.unavailable.empty()) continue;
        const double unit = static_cast<double>(of.operations) / 1e6;
        script +=
            fmt::format("{} {} {:.6g} {:.6g} {:.6g}\n", place++, cell_of(of.name),
                        of.taken.median() / unit, of.taken.lower() / unit, of.taken.upper() / unit);
    }
    return script +
           fmt::format("END\nset title 'one operation'\nset ylabel '{}'\n",
                       axis_of(result, axis::microseconds)) +
           bars_of("peers");
}

std::string scaling_panel(const bench_result& result) {
    std::string script = "$scaling << END\n";
    unsigned place = 0;
    for (const bench_scaling& of : result.scaling)
        script += fmt::format("{} {} {:.6g} {:.6g} {:.6g}\n", place++, cell_of(of.name()),
                              of.pages_per_second(of.taken.median()),
                              of.pages_per_second(of.taken.upper()),
                              of.pages_per_second(of.taken.lower()));
    return script +
           fmt::format("END\nset title 'scaling'\nset ylabel '{}'\n",
                       axis_of(result, axis::per_second)) +
           bars_of("scaling");
}

} // namespace

std::string plot_script(const bench_result& result, plot_format format) {
    std::vector<double> footprints;
    for (const bench_case& of : result.cases)
        add_once(footprints, of.footprint);
    std::vector<std::string> panels;
    panels.reserve(footprints.size() + 2);
    for (const double footprint : footprints)
        panels.push_back(cases_panel(result, footprint, static_cast<unsigned>(panels.size())));
    if (std::any_of(result.peers.begin(), result.peers.end(),
                    [](const bench_peer& of) { return of.unavailable.empty(); }))
        panels.push_back(peers_panel(result));
    if (!result.scaling.empty()) panels.push_back(scaling_panel(result));
    if (panels.empty()) throw failure("the result has nothing that can be plotted");
    std::string script = terminal_for(format, width, title_height + panel_height * panels.size());
    script += fmt::format(
        "set datafile missing '-'\n"
        "set style fill solid 0.8 border -1\nset boxwidth 0.9\n"
        "set logscale y\nset format y '%g'\nset grid y\n"
        "set key outside right\nset xtics rotate by -30\nset multiplot layout {},1 title {}\n",
        panels.size(),
        in_quotes(fmt::format("{} ({}), {} lane{}, Linux {}, medians and quartiles of {}",
                              result.device.name, size_text(result.device.memory_bytes),
                              result.device.lanes, result.device.lanes == 1 ? "" : "s",
                              result.kernel, result.repeats)));
    for (const std::string& panel : panels)
        script += panel;
    return script + "unset multiplot\n";
}

} // namespace hmmctl
