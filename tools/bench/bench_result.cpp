// SPDX-License-Identifier: MIT
#include "bench_result.hpp"

#include "failure.hpp"
#include "lib/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <initializer_list>

namespace hmmctl {
namespace {

json to_json(const times& of) {
    return {{"median", of.median()},
            {"lower", of.lower()},
            {"upper", of.upper()},
            {"samples", of.samples}};
}

times times_from(const json& of) {
    times result;
    of.at("samples").get_to(result.samples);
    if (result.samples.empty()) throw failure("a measurement has no samples");
    for (const double seconds : result.samples)
        if (!std::isfinite(seconds) || seconds < 0) throw failure("a sample is not a valid time");
    return result;
}

json to_json(const bench_case& of) {
    json result = {{"pattern", of.pattern},
                   {"transfer", of.transfer},
                   {"footprint", of.footprint},
                   {"bytes", of.bytes},
                   {"verified", true}, // a wrong result is an error and isn't reported
                   {"move_in", to_json(of.move_in)},
                   {"kernel", to_json(of.kernel)},
                   {"read_back", to_json(of.read_back)},
                   {"total", to_json(of.total)},
                   {"counts", of.counts},
                   {"phases", nullptr}};
    if (of.phases) result["phases"] = *of.phases;
    return result;
}

bench_case case_from(const json& of) {
    bench_case result;
    of.at("pattern").get_to(result.pattern);
    of.at("transfer").get_to(result.transfer);
    of.at("footprint").get_to(result.footprint);
    of.at("bytes").get_to(result.bytes);
    result.move_in = times_from(of.at("move_in"));
    result.kernel = times_from(of.at("kernel"));
    result.read_back = times_from(of.at("read_back"));
    result.total = times_from(of.at("total"));
    of.at("counts").get_to(result.counts);
    const std::size_t repeats = result.total.samples.size();
    for (const times* one : {&result.move_in, &result.kernel, &result.read_back})
        if (one->samples.size() != repeats)
            throw failure("the number of samples of a case differs from the number of repeats");
    if (const json& phases = of.at("phases"); !phases.is_null())
        result.phases = phases.get<std::map<std::string, std::uint64_t>>();
    return result;
}

json to_json(const bench_peer& of) {
    if (!of.unavailable.empty()) return {{"name", of.name}, {"unavailable", of.unavailable}};
    return {{"name", of.name}, {"operations", of.operations}, {"taken", to_json(of.taken)}};
}

bench_peer peer_from(const json& of) {
    bench_peer result;
    of.at("name").get_to(result.name);
    if (of.contains("unavailable")) {
        of["unavailable"].get_to(result.unavailable);
        if (result.unavailable.empty()) throw failure("an unavailable peer has no reason");
        return result;
    }
    of.at("operations").get_to(result.operations);
    if (result.operations == 0) throw failure("a peer has no operations");
    result.taken = times_from(of.at("taken"));
    return result;
}

json to_json(const bench_result& result, const bench_scaling& of) {
    json one = {{"by", of.by},
                {"count", of.count},
                {"operation", of.operation},
                {"pages", of.pages},
                {"taken", to_json(of.taken)},
                {"pages_per_second", of.pages_per_second(of.taken.median())},
                {"speedup", nullptr}};
    if (const std::optional<double> speedup = speedup_of(result, of)) one["speedup"] = *speedup;
    return one;
}

bench_scaling scaling_from(const json& of) {
    bench_scaling result;
    of.at("by").get_to(result.by);
    of.at("count").get_to(result.count);
    of.at("operation").get_to(result.operation);
    of.at("pages").get_to(result.pages);
    if (result.count == 0 || result.pages == 0)
        throw failure("a scaling measurement has no count or pages");
    result.taken = times_from(of.at("taken"));
    return result;
}

bench_device device_from(const json& of) {
    bench_device result;
    of.at("name").get_to(result.name);
    of.at("simulated").get_to(result.simulated);
    of.at("memory_bytes").get_to(result.memory_bytes);
    of.at("lanes").get_to(result.lanes);
    return result;
}

} // namespace

double times::at(double part) const {
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    const double place = part * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    if (below + 1 >= sorted.size()) return sorted.back();
    return std::lerp(sorted[below], sorted[below + 1], place - static_cast<double>(below));
}

times bench_case::until_result() const {
    times sums = move_in;
    for (std::size_t i = 0; i < sums.samples.size(); i++)
        sums.samples[i] += kernel.samples[i];
    return sums;
}

const bench_case* bench_result::find(std::string_view pattern, std::string_view transfer,
                                     double footprint) const {
    for (const bench_case& one : cases)
        if (one.pattern == pattern && one.transfer == transfer && one.footprint == footprint)
            return &one;
    return nullptr;
}

const bench_peer* bench_result::find_peer(std::string_view name) const {
    for (const bench_peer& one : peers)
        if (one.name == name && one.unavailable.empty()) return &one;
    return nullptr;
}

std::string bench_scaling::name() const {
    return fmt::format("{} by {} {}", operation, count, by);
}

const bench_scaling* bench_result::find_scaling(std::string_view name) const {
    for (const bench_scaling& one : scaling)
        if (one.name() == name) return &one;
    return nullptr;
}

std::optional<double> speedup_of(const bench_result& result, const bench_scaling& of) {
    bench_scaling single = of;
    single.count = 1;
    const bench_scaling* const base = result.find_scaling(single.name());
    if (base == nullptr) return std::nullopt;
    return of.pages_per_second(of.taken.median()) / base->pages_per_second(base->taken.median());
}

json to_json(const bench_result& result) {
    json cases = json::array();
    for (const bench_case& one : result.cases)
        cases.push_back(to_json(one));
    json peers = json::array();
    for (const bench_peer& one : result.peers)
        peers.push_back(to_json(one));
    json scaling = json::array();
    for (const bench_scaling& one : result.scaling)
        scaling.push_back(to_json(result, one));
    return {{"version", result.version},
            {"kernel", result.kernel},
            {"clock", result.clock},
            {"processors", result.processors},
            {"device",
             {{"name", result.device.name},
              {"simulated", result.device.simulated},
              {"memory_bytes", result.device.memory_bytes},
              {"lanes", result.device.lanes}}},
            {"pages", result.pages},
            {"huge_pages", result.huge_pages},
            {"repeats", result.repeats},
            {"quick", result.quick},
            {"cases", std::move(cases)},
            {"peers", std::move(peers)},
            {"scaling", std::move(scaling)}};
}

bench_result bench_result_from(const json& answer) {
    try {
        if (answer.at("schema") != json_schema) throw failure("unsupported schema version");
        const json& of = answer.at("bench");
        bench_result result;
        of.at("version").get_to(result.version);
        of.at("kernel").get_to(result.kernel);
        if (of.contains("clock")) of["clock"].get_to(result.clock); // earlier versions lack it
        of.at("processors").get_to(result.processors);
        result.device = device_from(of.at("device"));
        of.at("pages").get_to(result.pages);
        of.at("huge_pages").get_to(result.huge_pages);
        of.at("repeats").get_to(result.repeats);
        of.at("quick").get_to(result.quick);
        for (const json& one : of.at("cases"))
            result.cases.push_back(case_from(one));
        for (const json& one : of.at("peers"))
            result.peers.push_back(peer_from(one));
        if (of.contains("scaling")) // earlier versions lack it
            for (const json& one : of["scaling"])
                result.scaling.push_back(scaling_from(one));
        return result;
    } catch (const json::exception& error) {
        throw failure(fmt::format("not a result of hmmctl bench: {}", error.what()));
    }
}

bench_result read_bench_result(const std::string& path) {
    const std::optional<std::string> text = tools::read_file(path);
    if (!text) throw failure(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    try {
        return bench_result_from(json::parse(*text));
    } catch (const json::exception& error) {
        throw failure(fmt::format("{}: not valid JSON: {}", path, error.what()));
    } catch (const failure& reason) {
        throw failure(fmt::format("{}: {}", path, reason.what()));
    }
}

} // namespace hmmctl
