// SPDX-License-Identifier: MIT
// Names for the places where memory was allocated.
#pragma once

#include "json.hpp"
#include "summary_text.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace hmmctl {

/// Maximum number of call stacks to resolve; we choose those with the most faults.
constexpr std::size_t most_named_stacks = 200;

/// Memory that a process allocated at one place.
struct allocation_site {
    std::uint64_t space = 0;
    std::vector<symbol> calls; ///< the program's own, innermost first
    touches faults;
    allocation_sums sums;
};

/// Returns at most places_listed places, those with the most faults first.
std::vector<allocation_site> hottest_sites(const summary_of& what);

/// Returns the program's innermost call that allocated the memory, empty if unknown.
symbol site_of(const summary_of& what, std::uint64_t space, const known_memory& memory);

/// Returns the name and the place of an allocation, like `grid (stencil.cpp:12)`, as far as they
/// are known; "" if neither is.
std::string memory_text(const summary_of& what, std::uint64_t space, const known_memory& memory);

/// Adds the fields `memory`, the name, and `allocated_at`, the place.
void add_memory(json& to, const summary_of& what, std::uint64_t space, const known_memory& memory);

/// Is the call in a library that allocates on behalf of others, or inlined from its header?
bool is_of_library(const std::string& file, const symbol& call);

/// Returns the profile's section about allocations, "" if there are no allocations.
std::string allocations_text(const summary_of& what);
json allocations_json(const summary_of& what);

} // namespace hmmctl
