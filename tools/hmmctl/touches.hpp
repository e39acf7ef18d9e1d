// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace hmmctl {

/// How often something was touched.
struct touches {
    std::uint64_t device_faults = 0, cpu_faults = 0, nanoseconds = 0;

    bool operator==(const touches&) const = default;
};

/// Returns at most @number entries, those with the most faults first and equal ones by key.
template <class Key>
std::vector<std::pair<Key, touches>> hottest(const std::map<Key, touches>& all,
                                             std::size_t number) {
    std::vector<std::pair<Key, touches>> sorted(all.begin(), all.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
        return a.second.device_faults + a.second.cpu_faults >
               b.second.device_faults + b.second.cpu_faults;
    });
    if (sorted.size() > number) sorted.resize(number);
    return sorted;
}

} // namespace hmmctl
