// SPDX-License-Identifier: MIT
#include "bench.hpp"

#include "bench_result.hpp"
#include "failure.hpp"
#include "helpers.hpp"
#include "plot.hpp"
#include "table.hpp"

#include <fmt/format.h>

namespace hmmctl {
namespace {

/// Runs hmmctl-bench and returns its output.
std::string measured(const bench_plan& plan) {
    const std::string program = helper_file("hmmctl-bench");
    return output_of({program, to_json(plan).dump()}, "", "the measurement failed",
                     fmt::format("cannot run {}", program));
}

json to_json(const std::vector<named>& list) {
    json result = json::array();
    for (const named& one : list)
        result.push_back({{"name", one.name}, {"description", one.description}});
    return result;
}

void add(table& rows, const char* kind, const std::vector<named>& list) {
    for (const named& one : list)
        rows.add({kind, std::string(one.name), std::string(one.description)});
}

} // namespace

output list_bench(bool as_json) {
    if (as_json)
        return {json_text({{"patterns", to_json(bench_patterns())},
                           {"transfers", to_json(bench_transfers())},
                           {"peers", to_json(bench_peers())},
                           {"pages", to_json(bench_pages())},
                           {"scaling", to_json(bench_scalings())}}),
                "", 0};
    table rows({{"KIND"}, {"NAME"}, {"WHAT IT DOES"}});
    add(rows, "pattern", bench_patterns());
    add(rows, "transfer", bench_transfers());
    add(rows, "peer", bench_peers());
    add(rows, "pages", bench_pages());
    add(rows, "scaling", bench_scalings());
    return {rows.text(), "", 0};
}

output run_bench(const bench_plan& plan, bool as_json, const std::string& to) {
    const std::string text = measured(plan);
    const json answer = json::parse(text, nullptr, false);
    if (answer.is_discarded()) throw failure("hmmctl-bench did not print valid JSON");
    const bench_result result = bench_result_from(answer);
    if (!to.empty()) write_file(to, text);
    return {as_json ? text : text_of(result), "", 0};
}

output compare_bench(const std::string& before, const std::string& after, bool as_json) {
    const bench_comparison found = compare(read_bench_result(before), read_bench_result(after));
    if (found.common.empty())
        throw failure(fmt::format("{} and {} have no cases in common", before, after));
    return {as_json ? json_text("comparison", to_json(found)) : text_of(found), "", 0};
}

output plot_bench(const std::string& from, const std::string& to) {
    draw(to, [&](plot_format format) { return plot_script(read_bench_result(from), format); });
    return {};
}

} // namespace hmmctl
