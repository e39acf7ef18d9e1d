// SPDX-License-Identifier: MIT
#include "replay_run.hpp"

#include "accesses.hpp"
#include "bench_plan.hpp"
#include "bound.hpp"
#include "failure.hpp"
#include "simulator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace replay {
namespace {

using hmmctl::failure;
using hmmctl::json;
using hmmctl::replay_plan;

constexpr double usual_footprint = 1.5, most_footprint = 64;

/// A trace that depends on the size of the device, or not.
struct source {
    std::string name;
    const bench::pattern* pattern = nullptr; ///< null for a file
    double footprint = 0;
    trace of_file = {};
};

std::vector<std::string_view> policy_names() {
    std::vector<std::string_view> names;
    for (const policy_entry& one : policies())
        names.push_back(one.name);
    return names;
}

source source_of(const std::string& text) {
    source result = {text.substr(0, text.find(':')), nullptr, usual_footprint};
    result.pattern = bench::find_pattern(result.name);
    if (result.pattern == nullptr)
        throw failure(fmt::format("there is no pattern '{}'; there are {}", result.name,
                                  fmt::join(hmmctl::names_of(hmmctl::bench_patterns()), ", ")));
    if (result.name.size() == text.size()) return result;
    const char *const begin = text.data() + result.name.size() + 1, *const end =
                                                                        text.data() + text.size();
    const auto [stop, error] = std::from_chars(begin, end, result.footprint);
    if (error != std::errc() || stop != end || !(result.footprint > 0) ||
        result.footprint > most_footprint)
        throw failure(fmt::format("pattern '{}' has the footprint '{}', expected a fraction of the "
                                  "device's memory, above 0 and at most {}",
                                  result.name, begin, most_footprint));
    return result;
}

trace trace_of(const source& from, std::uint64_t device_bytes) {
    if (from.pattern == nullptr) return from.of_file;
    const double wanted = from.footprint * static_cast<double>(device_bytes / page_bytes);
    const auto bytes = static_cast<std::uint64_t>(wanted) * page_bytes;
    if (bytes < bench::least_bytes || bytes / page_bytes > most_pages)
        throw failure(fmt::format("pattern '{}' with footprint {} of {} MiB has {} pages, expected "
                                  "{} to {}; change --device-memory or the footprint",
                                  from.name, from.footprint, device_bytes >> 20, bytes / page_bytes,
                                  bench::least_bytes / page_bytes, most_pages));
    return trace_of_pattern(*from.pattern, bytes);
}

std::vector<source> sources_of(const replay_plan& plan) {
    std::vector<source> sources;
    if (!plan.trace.empty()) sources.push_back({plan.trace, nullptr, 0, read_trace(plan.trace)});
    for (const std::string& text : plan.patterns)
        sources.push_back(source_of(text));
    return sources;
}

std::vector<const policy_entry*> entries_of(const replay_plan& plan) {
    std::vector<const policy_entry*> entries;
    for (const std::string& name : plan.policies) {
        entries.push_back(find_policy(name));
        if (entries.back() == nullptr)
            throw failure(fmt::format("there is no policy '{}'; there are {}", name,
                                      fmt::join(policy_names(), ", ")));
    }
    if (plan.policies.empty())
        for (const policy_entry& one : policies())
            entries.push_back(&one);
    return entries;
}

json to_json(const outcome& of) {
    const counts& counted = of.counted;
    return {{"faults", counted.faults},
            {"cpu_faults", counted.cpu_faults},
            {"pages_in", counted.pages_in},
            {"pages_out", counted.pages_out},
            {"evictions", counted.evictions},
            {"pages_remote", counted.pages_remote},
            {"local_accesses", counted.local_accesses},
            {"remote_accesses", counted.remote_accesses},
            {"visits", counted.visits},
            {"remote_visits", counted.remote_visits},
            {"looks", counted.looks},
            {"exchanges", counted.exchanges},
            {"naps", counted.naps},
            {"pins", counted.pins},
            {"cost",
             {{"total", of.cost.total()},
              {"faults", of.cost.faults},
              {"moves", of.cost.moves},
              {"accesses", of.cost.accesses},
              {"looks", of.cost.looks}}}};
}

json run_of(const source& from, std::uint64_t device_bytes, const replay_plan& plan,
            const prices& costs) {
    const trace accesses = trace_of(from, device_bytes);
    if (!plan.write.empty()) write_trace(accesses, plan.write);
    const bound least = bound_of(accesses, costs, device_bytes);
    json results = json::array();
    for (const policy_entry* one : entries_of(plan)) {
        const auto decides = one->make(plan.seed);
        json result = {{"policy", one->name}};
        result.update(to_json(simulate(accesses, *decides, costs, device_bytes)));
        results.push_back(std::move(result));
    }
    json footprint;
    if (from.pattern != nullptr) footprint = from.footprint;
    return {{"trace", from.name},
            {"footprint", footprint},
            {"device_memory", device_bytes},
            {"pages", accesses.pages},
            {"bound", {{"misses", least.misses}, {"cost", least.cost}}},
            {"results", std::move(results)}};
}

json to_json(const prices& of) {
    return {{"name", of.name}, {"unit", of.unit}, {"source", of.source}};
}

} // namespace

json replayed(const replay_plan& plan) {
    const prices* const costs = find_prices(plan.prices);
    if (costs == nullptr)
        throw failure(fmt::format("there are no prices '{}'; --list shows those that there are",
                                  plan.prices));
    entries_of(plan); // fails before long runs
    const std::vector<source> sources = sources_of(plan);
    if (!plan.write.empty() && sources.size() * plan.device_memory.size() != 1)
        throw failure(fmt::format("--write takes one trace, not {}: name one pattern and one size "
                                  "of device memory",
                                  sources.size() * plan.device_memory.size()));
    json runs = json::array();
    for (const source& from : sources)
        for (const std::uint64_t bytes : plan.device_memory)
            runs.push_back(run_of(from, bytes, plan, *costs));
    return {
        {"replay", {{"prices", to_json(*costs)}, {"seed", plan.seed}, {"runs", std::move(runs)}}}};
}

json listed() {
    json answer = {{"policies", json::array()}, {"prices", json::array()}};
    for (const policy_entry& one : policies())
        answer["policies"].push_back({{"name", one.name}, {"description", one.description}});
    for (const prices& one : price_sets())
        answer["prices"].push_back(to_json(one));
    return answer;
}

} // namespace replay
