// SPDX-License-Identifier: MIT
#include "bound.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

namespace replay {
namespace {

constexpr std::uint32_t no_visit = ~std::uint32_t{0};

/// A visit and the next one of the same page, with nothing in between that takes it off the device.
struct visit {
    std::uint32_t page;
    std::uint32_t next = no_visit;
    std::uint8_t lines;
};

std::vector<visit> visits_of(const trace& of) {
    std::vector<visit> visits;
    std::vector<std::uint32_t> last(of.pages, no_visit);
    for (const step& one : of.steps) {
        // a prefetch back, too: what it moves has to move in again
        if (one.what == step_kind::wait || one.what == step_kind::prefetch_device) continue;
        for (std::uint32_t page = one.first; page < one.first + one.count; page++) {
            if (!is_device(one.what)) {
                last[page] = no_visit;
                continue;
            }
            const auto number = static_cast<std::uint32_t>(visits.size());
            if (last[page] != no_visit) visits[last[page]].next = number;
            last[page] = number;
            visits.push_back({page, no_visit, one.lines});
        }
    }
    return visits;
}

/// Returns the most visits with at least that many lines that can be saved.
std::uint64_t saved(const std::vector<visit>& visits, unsigned lines, std::uint64_t capacity) {
    std::set<std::uint32_t> kept; ///< pages, by their next visit
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < visits.size(); i++) {
        sum += kept.erase(i);
        const std::uint32_t next = visits[i].next;
        if (next == no_visit || visits[next].lines < lines) continue;
        kept.insert(next);
        if (kept.size() > capacity) kept.erase(std::prev(kept.end()));
    }
    return sum;
}

} // namespace

bound bound_of(const trace& of, const prices& costs, std::uint64_t device_bytes) {
    const std::vector<visit> visits = visits_of(of);
    const std::uint64_t capacity = device_bytes / page_bytes;
    bound result;
    result.misses = visits.size() - saved(visits, 0, capacity);
    for (const step& one : of.steps)
        if (is_device(one.what))
            result.cost += one.count * (one.accesses * costs.access + one.lines * costs.local_line);
    const double extra = costs.remote_line - costs.local_line;
    double below = 0;
    for (unsigned lines = 1; lines <= page_lines; lines *= 2) {
        const double surcharge = std::min(costs.page_in, lines * extra);
        if (surcharge <= below) break;
        const auto with = std::count_if(visits.begin(), visits.end(),
                                        [=](const visit& one) { return one.lines >= lines; });
        const std::uint64_t left =
            static_cast<std::uint64_t>(with) - saved(visits, lines, capacity);
        result.cost += (surcharge - below) * static_cast<double>(left);
        below = surcharge;
    }
    return result;
}

} // namespace replay
