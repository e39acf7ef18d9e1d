// SPDX-License-Identifier: MIT
#include "bench_plan.hpp"
#include "bench_result.hpp"
#include "table.hpp"

#include <fmt/format.h>

namespace hmmctl {
namespace {

std::string milliseconds(double seconds) {
    return fmt::format("{:.2f}", seconds * 1e3);
}

/// Returns the ratio of medians to another transfer with the same pattern and footprint, "-" if the
/// latter is missing.
std::string ratio_to(const bench_result& result, const bench_case& of, std::string_view transfer) {
    const bench_case* const other = result.find(of.pattern, transfer, of.footprint);
    if (other == nullptr || of.transfer == transfer || of.transfer == cpu_loop) return "-";
    return fmt::format("{:.2f}", of.until_result().median() / other->until_result().median());
}

std::string count_of(const bench_case& of, const char* name) {
    const auto found = of.counts.find(name);
    return found == of.counts.end() ? "-" : std::to_string(found->second);
}

/// Returns the ratio of the time of one operation to another peer's, "-" if the latter is missing.
std::string ratio_to(const bench_result& result, const bench_peer& of, std::string_view name) {
    const bench_peer* const other = result.find_peer(name);
    if (name == "storm" && !result.device.simulated) return "-"; // there is none
    if (other == nullptr || of.name == name || of.name == "launch") return "-";
    return fmt::format("{:.2f}", microseconds_of(of) / microseconds_of(*other));
}

std::string peers_text(const bench_result& result) {
    table rows({{"PEER"},
                {"OPERATIONS", true},
                {"US EACH", true},
                {"SPREAD", true},
                {"TO STORM", true},
                {"TO MEMCPY", true}});
    std::string missing;
    for (const bench_peer& of : result.peers) {
        if (!of.unavailable.empty()) {
            missing += fmt::format("{}: {}\n", of.name, printable(of.unavailable));
            continue;
        }
        rows.add(
            {of.name, std::to_string(of.operations), fmt::format("{:.3f}", microseconds_of(of)),
             fmt::format("{:.3f}", of.taken.spread() * 1e6 / static_cast<double>(of.operations)),
             ratio_to(result, of, "storm"), ratio_to(result, of, "memcpy")});
    }
    return rows.text() + (missing.empty() ? "" : "\nnot measured here:\n" + missing);
}

std::string scaling_text(const bench_result& result) {
    table rows({{"SCALING"},
                {"COUNT", true},
                {"OPERATION"},
                {"PAGES", true},
                {"PAGES/S", true},
                {"SPREAD", true},
                {"SPEEDUP", true}});
    for (const bench_scaling& of : result.scaling) {
        const std::optional<double> speedup = speedup_of(result, of);
        const double spread =
            of.pages_per_second(of.taken.lower()) - of.pages_per_second(of.taken.upper());
        rows.add({of.by, std::to_string(of.count), of.operation, std::to_string(of.pages),
                  fmt::format("{:.0f}", of.pages_per_second(of.taken.median())),
                  fmt::format("{:.0f}", spread), speedup ? fmt::format("{:.2f}", *speedup) : "-"});
    }
    return rows.text();
}

std::string cases_text(const bench_result& result) {
    table rows({{"PATTERN"},
                {"TRANSFER"},
                {"FOOTPRINT", true},
                {"MOVE IN", true},
                {"KERNEL", true},
                {"READ BACK", true},
                {"TOTAL MS", true},
                {"SPREAD", true},
                {"TO PREFETCH", true},
                {"TO CPU", true},
                {"US/PAGE", true},
                {"FAULTS", true}});
    for (const bench_case& of : result.cases) {
        const double pages = static_cast<double>(of.bytes) / 4096;
        rows.add({of.pattern, of.transfer, fmt::format("{:.3g}", of.footprint),
                  milliseconds(of.move_in.median()), milliseconds(of.kernel.median()),
                  milliseconds(of.read_back.median()), milliseconds(of.total.median()),
                  milliseconds(of.total.spread()), ratio_to(result, of, "prefetch"),
                  ratio_to(result, of, cpu_loop),
                  fmt::format("{:.2f}", of.until_result().median() * 1e6 / pages),
                  count_of(of, "device_faults")});
    }
    return rows.text();
}

} // namespace

double microseconds_of(const bench_peer& of) {
    return of.taken.median() * 1e6 / static_cast<double>(of.operations);
}

std::string text_of(const bench_result& result) {
    std::string text = fmt::format(
        "{} ({}), {} lanes, {}, Linux {}, {} pages (THP {}), {} repeats, "
        "times in ms{}\n",
        printable(result.device.name), size_text(result.device.memory_bytes), result.device.lanes,
        result.device.simulated ? "simulated" : "threads of the program", printable(result.kernel),
        result.pages, result.huge_pages.empty() ? "none" : printable(result.huge_pages),
        result.repeats, result.clock == clock_of_instructions ? " of 1000000 instructions" : "");
    if (!result.cases.empty()) text += "\n" + cases_text(result);
    if (!result.peers.empty()) text += "\n" + peers_text(result);
    if (!result.scaling.empty()) text += "\n" + scaling_text(result);
    return text;
}

} // namespace hmmctl
