// SPDX-License-Identifier: MIT
// A summary of events, for people in the layout of nvprof, and for programs.
#pragma once

#include "json.hpp"
#include "summary.hpp"
#include "symbols.hpp"
#include "trace_file.hpp"

#include <map>
#include <string>
#include <vector>

namespace hmmctl {

/// What a summary is about.
struct summary_of {
    const trace_header& header;
    const summary& sums;
    const std::map<std::uint64_t, observed_process>& processes; ///< by space
    const event_drops& dropped;

    /// Returns an empty process for a space that was not looked at.
    const observed_process& process_of(std::uint64_t space) const;
    /// Returns the names of instructions, in their order.
    std::vector<symbol> names_of(const summary::hot& code) const;

    std::uint64_t dropped_allocations = 0; ///< number of lost records

    /// Names that were found: it takes long, and texts and pages have the same instructions.
    mutable std::map<summary::place, symbol> known_names = {};
    /// The same for calls that allocated memory: see allocation_sites.hpp.
    mutable std::map<stack_key, std::vector<symbol>> known_calls = {};
};

/// How many blocks and instructions are listed.
constexpr std::size_t places_listed = 10;

/// Returns the number of all faults, of devices and the CPU.
std::uint64_t all_faults(const summary& sums);

/// Returns a part in percent, `-` of nothing.
std::string share_text(std::uint64_t part, std::uint64_t whole);

/// Returns lines with two spaces before each.
std::string indented(const std::string& text);

std::string text_of(const summary_of& what);
json to_json(const summary_of& what);

/// Returns a time with a unit: `1.500 ms`.
std::string time_text(std::uint64_t nanoseconds);

} // namespace hmmctl
