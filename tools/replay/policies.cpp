// SPDX-License-Identifier: MIT
// The table of policies. Each is a file in policies/.
#include "policy.hpp"

#include <algorithm>

namespace replay {

using maker = std::unique_ptr<policy>(std::uint64_t seed);
maker make_always, make_by_use, make_frequency, make_mru, make_never, make_random;

namespace {

constexpr policy_entry entries[] = {
    {"by-use", "a full device exchanges memory for what is used more (the default)", make_by_use},
    {"always", "a full device evicts its least recently used memory at each touch", make_always},
    {"never", "nothing is evicted: what does not fit is used in system memory", make_never},
    {"mru", "as always, but evicts the most recently used memory", make_mru},
    {"frequency", "as always, but evicts the memory that was used least often", make_frequency},
    {"random", "as always, but evicts any memory", make_random},
};

} // namespace

std::span<const policy_entry> policies() {
    return entries;
}

const policy_entry* find_policy(std::string_view name) {
    const auto* const found = std::find_if(std::begin(entries), std::end(entries),
                                           [=](const auto& one) { return one.name == name; });
    return found == std::end(entries) ? nullptr : found;
}

} // namespace replay
