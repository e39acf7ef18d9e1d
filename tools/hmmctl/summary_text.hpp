// SPDX-License-Identifier: MIT
// A summary of events, as text in the layout of nvprof and as JSON.
#pragma once

#include "json.hpp"
#include "summary.hpp"
#include "symbols.hpp"
#include "trace_file.hpp"

#include <map>
#include <string>
#include <vector>

namespace hmmctl {

/// A summary and its context.
struct summary_of {
    const trace_header& header;
    const summary& sums;
    const std::map<std::uint64_t, observed_process>& processes; ///< by space
    const event_drops& dropped;

    /// Returns an empty process for an unknown space.
    const observed_process& process_of(std::uint64_t space) const;
    /// Returns the names of instructions, in the same order.
    std::vector<symbol> names_of(const summary::hot& code) const;

    std::uint64_t dropped_allocations = 0; ///< number of lost records

    /// Caches names: finding them takes long, and text and HTML page have the same instructions.
    mutable std::map<summary::place, symbol> known_names = {};
    /// Likewise for calls that allocated memory: see allocation_sites.hpp.
    mutable std::map<stack_key, std::vector<symbol>> known_calls = {};
};

/// Maximum number of blocks and instructions that are listed.
constexpr std::size_t places_listed = 10;

/// Returns the number of all device and CPU faults.
std::uint64_t all_faults(const summary& sums);

/// Returns a part in percent, `-` if the whole is 0.
std::string share_text(std::uint64_t part, std::uint64_t whole);

/// Indents each line by two spaces.
std::string indented(const std::string& text);

std::string text_of(const summary_of& what);
json to_json(const summary_of& what);

/// Returns a time with a unit, like `1.500 ms`.
std::string time_text(std::uint64_t nanoseconds);

} // namespace hmmctl
