// SPDX-License-Identifier: MIT
#include "bench_result.hpp"

#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hmmctl {
namespace {

json limits_of(const times& of) {
    return {{"median", of.median()}, {"lower", of.lower()}, {"upper", of.upper()}};
}

std::string text_of(const times& of) {
    return fmt::format("{:.3f} ({:.3f})", of.median() * 1e3, of.spread() * 1e3);
}

const bench_case* same_in(const bench_result& other, const bench_case& of) {
    const bench_case* const found = other.find(of.pattern, of.transfer, of.footprint);
    return found != nullptr && found->bytes == of.bytes ? found : nullptr;
}

const bench_peer* same_in(const bench_result& other, const bench_peer& of) {
    const bench_peer* const found = other.find_peer(of.name);
    return found != nullptr && found->operations == of.operations ? found : nullptr;
}

const bench_scaling* same_in(const bench_result& other, const bench_scaling& of) {
    const bench_scaling* const found = other.find_scaling(of.name());
    return found != nullptr && found->pages == of.pages ? found : nullptr;
}

void compare_scaling(const bench_result& before, const bench_result& after,
                     bench_comparison& result) {
    for (const bench_scaling& of : before.scaling) {
        if (const bench_scaling* other = same_in(after, of))
            result.common.push_back({"", of.name(), 0, of.taken, other->taken});
        else
            result.only_before++;
    }
    for (const bench_scaling& of : after.scaling)
        if (same_in(before, of) == nullptr) result.only_after++;
}

} // namespace

bool bench_difference::is_clear() const {
    constexpr std::size_t least_samples = 3; // fewer don't have a meaningful spread
    if (std::min(before.samples.size(), after.samples.size()) < least_samples) return false;
    return std::abs(after.median() - before.median()) > std::max(before.spread(), after.spread());
}

bench_comparison compare(const bench_result& before, const bench_result& after) {
    bench_comparison result;
    result.same_machine = before.kernel == after.kernel && before.processors == after.processors &&
                          before.device == after.device && before.pages == after.pages &&
                          before.huge_pages == after.huge_pages && before.clock == after.clock;
    for (const bench_case& of : before.cases) {
        if (const bench_case* other = same_in(after, of))
            result.common.push_back(
                {of.pattern, of.transfer, of.footprint, of.total, other->total});
        else
            result.only_before++;
    }
    for (const bench_peer& of : before.peers) {
        if (!of.unavailable.empty()) continue;
        if (const bench_peer* other = same_in(after, of))
            result.common.push_back({"", of.name, 0, of.taken, other->taken});
        else
            result.only_before++;
    }
    for (const bench_peer& of : after.peers)
        if (of.unavailable.empty() && same_in(before, of) == nullptr) result.only_after++;
    for (const bench_case& of : after.cases)
        if (same_in(before, of) == nullptr) result.only_after++;
    compare_scaling(before, after, result);
    return result;
}

json to_json(const bench_comparison& of) {
    json common = json::array();
    for (const bench_difference& one : of.common)
        common.push_back({{"pattern", one.pattern},
                          {"transfer", one.transfer},
                          {"footprint", one.footprint},
                          {"before", limits_of(one.before)},
                          {"after", limits_of(one.after)},
                          {"ratio", one.ratio()},
                          {"clear", one.is_clear()}});
    return {{"common", std::move(common)},
            {"only_before", of.only_before},
            {"only_after", of.only_after},
            {"same_machine", of.same_machine}};
}

std::string text_of(const bench_comparison& of) {
    table rows({{"PATTERN"},
                {"TRANSFER"},
                {"FOOTPRINT", true},
                {"BEFORE MS (SPREAD)", true},
                {"AFTER MS (SPREAD)", true},
                {"RATIO", true},
                {"CLEAR"}});
    for (const bench_difference& one : of.common) {
        const char* const word = one.ratio() > 1 ? "slower" : "faster";
        rows.add({one.pattern.empty() ? "-" : one.pattern, one.transfer,
                  one.pattern.empty() ? "-" : fmt::format("{:.3g}", one.footprint),
                  text_of(one.before), text_of(one.after), fmt::format("{:.3f}", one.ratio()),
                  one.is_clear() ? word : "-"});
    }
    std::string text = rows.text();
    if (!of.same_machine)
        text += "\nthe results differ in kernel, processors, device, clock or pages\n";
    if (of.only_before + of.only_after > 0)
        text += fmt::format("\nonly before: {}, only after: {}\n", of.only_before, of.only_after);
    return text;
}

} // namespace hmmctl
