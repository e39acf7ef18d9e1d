// SPDX-License-Identifier: MIT
#include "replay.hpp"

#include "failure.hpp"
#include "helpers.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace hmmctl {
namespace {

json simulated(const replay_plan& plan) {
    const std::string program = helper_file("hmmctl-replay");
    const std::string text = output_of({program, to_json(plan).dump()}, "", "the replay failed",
                                       fmt::format("cannot run {}", program));
    json answer = json::parse(text, nullptr, false);
    if (answer.is_discarded()) throw failure("hmmctl-replay did not print valid JSON");
    return answer;
}

std::string ratio(double value, double to) {
    return to > 0 ? fmt::format("{:.2f}", value / to) : "-";
}

std::string millions(double value) {
    return fmt::format("{:.2f}", value / 1e6);
}

/// Pages that moved in, and visits of others: what the bound counts as misses.
std::uint64_t misses_of(const json& result) {
    return result.at("pages_in").get<std::uint64_t>() +
           result.at("remote_visits").get<std::uint64_t>();
}

std::string count_in(const json& result, const char* name) {
    return std::to_string(result.at(name).get<std::uint64_t>());
}

double cost_of(const json& result) {
    return result.at("cost").at("total").get<double>();
}

std::string name_of(const json& run) {
    const auto trace = run.at("trace").get<std::string>();
    return run.at("footprint").is_null()
               ? trace
               : fmt::format("{}:{:.3g}", trace, run.at("footprint").get<double>());
}

void add_run(table& rows, const json& run) {
    const std::string name = printable(name_of(run)),
                      memory = size_text(run.at("device_memory").get<std::uint64_t>());
    const json& bound = run.at("bound");
    const auto least = bound.at("misses").get<std::uint64_t>();
    double best = 0;
    for (const json& result : run.at("results"))
        best = best > 0 ? std::min(best, cost_of(result)) : cost_of(result);
    for (const json& result : run.at("results"))
        rows.add({name, memory, result.at("policy").get<std::string>(), count_in(result, "faults"),
                  count_in(result, "pages_in"), count_in(result, "pages_out"),
                  count_in(result, "remote_visits"),
                  ratio(static_cast<double>(misses_of(result)), static_cast<double>(least)),
                  millions(cost_of(result)), ratio(cost_of(result), best)});
    rows.add({name, memory, "bound", "", "", "", "", std::to_string(least),
              millions(bound.at("cost").get<double>()), ""});
}

/// Returns a bar for each policy, and one for the bound.
std::string bars_of(const json& run) {
    std::string line = cell_of(name_of(run));
    for (const json& result : run.at("results"))
        line += fmt::format(" {:.6g}", cost_of(result) / 1e6);
    return line + fmt::format(" {:.6g}\n", run.at("bound").at("cost").get<double>() / 1e6);
}

std::string panel_of(const std::vector<json>& runs, unsigned number) {
    std::string script = fmt::format("$runs{} << END\n", number), plot = "plot";
    for (const json& run : runs)
        script += bars_of(run);
    const auto bar = [&](std::size_t i, const std::string& title) {
        plot += fmt::format("{} $runs{} using {}{} title {}", i > 0 ? "," : "", number, i + 2,
                            i == 0 ? ":xtic(1)" : "", in_quotes(title));
    };
    const json& results = runs.front().at("results");
    for (std::size_t i = 0; i < results.size(); i++)
        bar(i, results[i].at("policy").get<std::string>());
    bar(results.size(), "bound");
    return fmt::format("{}END\nset title 'device memory {}'\n{}\n", script,
                       size_text(runs.front().at("device_memory").get<std::uint64_t>()), plot);
}

} // namespace

output list_replay(bool as_json) {
    replay_plan plan;
    plan.lists = true;
    const json answer = simulated(plan);
    if (as_json) return {json_text(answer), "", 0};
    table rows({{"KIND"}, {"NAME"}, {"WHAT IT DOES"}});
    for (const json& one : answer.at("policies"))
        rows.add({"policy", one.at("name").get<std::string>(),
                  one.at("description").get<std::string>()});
    for (const json& one : answer.at("prices"))
        rows.add({"prices", one.at("name").get<std::string>(),
                  fmt::format("{}, in {}", one.at("source").get<std::string>(),
                              one.at("unit").get<std::string>())});
    return {rows.text(), "", 0};
}

output run_replay(const replay_plan& plan, bool as_json, const std::string& to) {
    const json answer = simulated(plan);
    if (!to.empty()) draw(to, [&](plot_format format) { return plot_of_replay(answer, format); });
    return {as_json ? json_text(answer) : text_of_replay(answer), "", 0};
}

std::string text_of_replay(const json& answer) {
    const json& replay = answer.at("replay");
    table rows({{"TRACE"},
                {"MEMORY", true},
                {"POLICY"},
                {"FAULTS", true},
                {"PAGES IN", true},
                {"PAGES OUT", true},
                {"REMOTE", true},
                {"MISSES", true},
                {"COST", true},
                {"TO BEST", true}});
    for (const json& run : replay.at("runs"))
        add_run(rows, run);
    const json& prices = replay.at("prices");
    return fmt::format("{}: cost in millions of {}; misses as a ratio to the bound\n\n{}",
                       prices.at("source").get<std::string>(), prices.at("unit").get<std::string>(),
                       rows.text());
}

std::string plot_of_replay(const json& answer, plot_format format) {
    constexpr unsigned width = 1000, panel_height = 360, title_height = 40;
    const json& replay = answer.at("replay");
    std::map<std::uint64_t, std::vector<json>> by_memory;
    for (const json& run : replay.at("runs"))
        by_memory[run.at("device_memory").get<std::uint64_t>()].push_back(run);
    const json& prices = replay.at("prices");
    std::string script =
        terminal_for(format, width, title_height + panel_height * by_memory.size()) +
        fmt::format("set style fill solid 0.8 border -1\nset boxwidth 0.9\n"
                    "set style data histograms\nset style histogram clustered gap 1\n"
                    "set logscale y\nset format y '%g'\nset grid y\nset key outside right\n"
                    "set xtics rotate by -30\nset ylabel 'cost [millions of {}]'\n"
                    "set multiplot layout {},1 title {}\n",
                    prices.at("unit").get<std::string>(), by_memory.size(),
                    in_quotes("policies on " + prices.at("source").get<std::string>()));
    unsigned number = 0;
    for (const auto& [bytes, runs] : by_memory)
        script += panel_of(runs, number++);
    return script + "unset multiplot\n";
}

} // namespace hmmctl
