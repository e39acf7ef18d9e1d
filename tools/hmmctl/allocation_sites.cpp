// SPDX-License-Identifier: MIT
#include "allocation_sites.hpp"

#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string_view>
#include <tuple>

namespace hmmctl {
namespace {

std::string_view base_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1); // npos + 1 is 0
}

std::string file_of(const observed_process& process, std::uint64_t ip) {
    const code_mapping* const code = mapping_of(process.code, ip);
    return code ? code->path : "";
}

std::vector<instruction> calls_of(const observed_process& process, const call_stack& stack) {
    std::vector<instruction> calls;
    for (const std::uint64_t ip : stack)
        if (ip != 0) calls.push_back({process, ip});
    return calls;
}

/// Leaves out calls of libraries, unless there are no others.
std::vector<symbol> calls_of_program(std::span<const instruction> calls,
                                     std::span<const std::vector<symbol>> names) {
    std::vector<symbol> all, of_program;
    for (std::size_t i = 0; i < calls.size(); i++)
        for (const symbol& name : names[i]) {
            all.push_back(name);
            if (!is_of_library(file_of(calls[i].process, calls[i].ip), name))
                of_program.push_back(name);
        }
    return of_program.empty() ? all : of_program;
}

/// Finds the names of all stacks that don't have any yet, in one batch.
void find_names(const summary_of& what) {
    std::vector<stack_key> keys;
    std::vector<instruction> all;
    std::vector<std::size_t> ends;
    const annotation_summary& from = what.sums.annotations();
    for (const auto& [key, faults] : from.hottest_stacks(most_named_stacks)) {
        if (what.known_calls.contains(key)) continue;
        for (const instruction& call :
             calls_of(what.process_of(key.space), from.allocations().stack_of(key.stack)))
            all.push_back(call);
        keys.push_back(key);
        ends.push_back(all.size());
    }
    const std::vector<std::vector<symbol>> names = inlined_symbols_of(all);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < keys.size(); begin = ends[i++]) {
        const std::size_t number = ends[i] - begin;
        what.known_calls[keys[i]] = calls_of_program(std::span(all).subspan(begin, number),
                                                     std::span(names).subspan(begin, number));
    }
}

const std::vector<symbol>& names_of(const summary_of& what, const stack_key& key) {
    static const std::vector<symbol> unknown;
    if (!what.known_calls.contains(key)) find_names(what);
    const auto found = what.known_calls.find(key);
    return found == what.known_calls.end() ? unknown : found->second;
}

/// Identifies a place. Stacks that only differ in outer calls are the same place.
using site_key = std::tuple<std::uint64_t, std::string, std::string, std::string>;

site_key key_of(std::uint64_t space, const std::vector<symbol>& calls) {
    const auto place = [&](std::size_t i) { return i < calls.size() ? calls[i].place : ""; };
    return {space, calls.empty() ? "" : calls[0].function, place(0), place(1)};
}

std::string call_text(const std::vector<symbol>& calls, std::size_t number) {
    if (number >= calls.size()) return "-";
    const symbol& call = calls[number];
    const std::string place = printable(std::string(base_of(call.place)));
    return call.function.empty() ? place : fmt::format("{} ({})", place, printable(call.function));
}

std::uint64_t faults_of(const touches& of) {
    return of.device_faults + of.cpu_faults;
}

json to_json(const symbol& call) {
    return {{"function", call.function}, {"place", call.place}};
}

} // namespace

bool is_of_library(const std::string& file, const symbol& call) {
    for (const std::string_view name :
         {"libc.so", "libc-", "libstdc++", "libc++", "libgcc_s", "libhmmrt", "ld-linux",
          "libjemalloc", "libtcmalloc", "libmimalloc"})
        if (base_of(file).starts_with(name)) return true;
    for (const std::string_view folder : {"/usr/include/", "/usr/lib/gcc/"})
        if (call.place.starts_with(folder)) return true;
    for (const std::string_view folder : {"/include/c++/", "/include/hmm/"})
        if (call.place.find(folder) != std::string::npos) return true;
    for (const std::string_view name : {"std::", "__gnu_cxx::", "operator new", "hmm::", "hmmrt::"})
        if (call.function.starts_with(name)) return true;
    return false;
}

std::vector<allocation_site> hottest_sites(const summary_of& what) {
    std::map<site_key, allocation_site> merged;
    const annotation_summary& from = what.sums.annotations();
    for (const auto& [key, faults] : from.hottest_stacks(most_named_stacks)) {
        const std::vector<symbol>& calls = names_of(what, key);
        allocation_site& site = merged[key_of(key.space, calls)];
        if (site.calls.empty()) site.calls = calls;
        site.space = key.space;
        site.faults.device_faults += faults.device_faults;
        site.faults.cpu_faults += faults.cpu_faults;
        site.faults.nanoseconds += faults.nanoseconds;
        const allocation_sums sums =
            from.allocations().sums_of(what.process_of(key.space).pid, key.stack);
        site.sums.count += sums.count;
        site.sums.bytes += sums.bytes;
    }
    std::vector<allocation_site> sites;
    for (auto& [key, site] : merged)
        sites.push_back(std::move(site));
    std::stable_sort(sites.begin(), sites.end(), [](const auto& a, const auto& b) {
        return faults_of(a.faults) > faults_of(b.faults);
    });
    if (sites.size() > places_listed) sites.resize(places_listed);
    return sites;
}

symbol site_of(const summary_of& what, std::uint64_t space, const known_memory& memory) {
    if (memory.allocated == 0) return {};
    const stack_key key{space, memory.allocated};
    const std::vector<symbol>& calls = names_of(what, key);
    return calls.empty() ? symbol() : calls.front();
}

std::string memory_text(const summary_of& what, std::uint64_t space, const known_memory& memory) {
    const std::string line(base_of(site_of(what, space, memory).place));
    if (memory.name.empty() || line.empty()) return printable(memory.name + line);
    return printable(fmt::format("{} ({})", memory.name, line));
}

void add_memory(json& to, const summary_of& what, std::uint64_t space, const known_memory& memory) {
    to["memory"] = memory.name;
    to["allocated_at"] = site_of(what, space, memory).place;
}

std::string allocations_text(const summary_of& what) {
    const std::vector<allocation_site> sites = hottest_sites(what);
    std::string text;
    if (!sites.empty()) {
        table rows({{"Share", true},
                    {"Device faults", true},
                    {"CPU faults", true},
                    {"Count", true},
                    {"Total Size", true},
                    {"PID", true},
                    {"Place"},
                    {"Called from"}});
        for (const allocation_site& site : sites)
            rows.add({share_text(faults_of(site.faults), all_faults(what.sums)),
                      std::to_string(site.faults.device_faults),
                      std::to_string(site.faults.cpu_faults), std::to_string(site.sums.count),
                      size_text(site.sums.bytes), std::to_string(what.process_of(site.space).pid),
                      call_text(site.calls, 0), call_text(site.calls, 1)});
        text = "\nAllocation sites with the most faults\n" + indented(rows.text());
    }
    if (what.dropped_allocations != 0)
        text += fmt::format("\n{} allocation records were lost\n", what.dropped_allocations);
    return text;
}

json allocations_json(const summary_of& what) {
    json sites = json::array();
    for (const allocation_site& site : hottest_sites(what)) {
        json calls = json::array();
        for (const symbol& call : site.calls)
            calls.push_back(to_json(call));
        sites.push_back({{"space", site.space},
                         {"pid", what.process_of(site.space).pid},
                         {"device_faults", site.faults.device_faults},
                         {"cpu_faults", site.faults.cpu_faults},
                         {"nanoseconds", site.faults.nanoseconds},
                         {"count", site.sums.count},
                         {"bytes", site.sums.bytes},
                         {"calls", std::move(calls)}});
    }
    return sites;
}

} // namespace hmmctl
