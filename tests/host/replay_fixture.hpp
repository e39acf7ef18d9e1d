// SPDX-License-Identifier: MIT
// Traces and results for the tests of hmmctl-replay.
#pragma once

#include "accesses.hpp"
#include "bound.hpp"
#include "simulator.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace replay {

constexpr std::uint64_t mib = std::uint64_t{1} << 20, usual_memory = 16 * mib;
inline const prices& guest = *find_prices("guest");
inline const prices& gpu = *find_prices("gpu");

inline outcome simulated(const trace& of, const std::string& policy, const prices& costs = guest,
                         std::uint64_t memory = usual_memory) {
    const policy_entry* const entry = find_policy(policy);
    if (entry == nullptr) throw std::invalid_argument(policy);
    return simulate(of, *entry->make(1), costs, memory);
}

inline trace pattern(const char* name, double footprint, std::uint64_t memory = usual_memory) {
    const auto pages =
        static_cast<std::uint64_t>(footprint * static_cast<double>(memory / page_bytes));
    return trace_of_pattern(*bench::find_pattern(name), pages * page_bytes);
}

/// @rounds sweeps over pages.
inline trace sweeps(std::uint32_t pages, unsigned rounds) {
    trace result;
    result.pages = pages;
    for (unsigned i = 0; i < rounds; i++)
        result.steps.push_back({.first = 0, .count = pages});
    return result;
}

/// Returns a number from the environment, so that a failure can be repeated.
inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

} // namespace replay
