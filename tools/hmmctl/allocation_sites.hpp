// SPDX-License-Identifier: MIT
// Where memory was allocated, in words.
#pragma once

#include "json.hpp"
#include "summary_text.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace hmmctl {

/// How many call stacks get names: those with the most faults.
constexpr std::size_t most_named_stacks = 200;

/// Memory that a process has allocated at one place.
struct allocation_site {
    std::uint64_t space = 0;
    std::vector<symbol> calls; ///< those of the program, the innermost first
    touches faults;
    allocation_sums sums;
};

/// Returns the places with the most faults, the first of these first, at most places_listed.
std::vector<allocation_site> hottest_sites(const summary_of& what);

/// Returns the innermost call of the program that allocated it, an empty one if that is unknown.
symbol site_of(const summary_of& what, std::uint64_t space, const known_memory& memory);

/// Returns the name and the place of an allocation, as `grid (stencil.cpp:12)`, or what is known
/// of that; "" for nothing.
std::string memory_text(const summary_of& what, std::uint64_t space, const known_memory& memory);

/// Adds `memory`, the name, and `allocated_at`, the place.
void add_memory(json& to, const summary_of& what, std::uint64_t space, const known_memory& memory);

/// Is it a call within a library that allocates for others, or inlined from a header of one?
bool is_of_library(const std::string& file, const symbol& call);

/// Returns the part of a profile, "" without allocations.
std::string allocations_text(const summary_of& what);
json allocations_json(const summary_of& what);

} // namespace hmmctl
