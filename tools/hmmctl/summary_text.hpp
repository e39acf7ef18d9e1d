// SPDX-License-Identifier: MIT
// A summary of events, for people in the layout of nvprof, and for programs.
#pragma once

#include "json.hpp"
#include "summary.hpp"
#include "trace_file.hpp"

#include <map>
#include <string>

namespace hmmctl {

/// What a summary is about.
struct summary_of {
    const trace_header& header;
    const summary& sums;
    const std::map<std::uint64_t, observed_process>& processes; ///< by space
    const event_drops& dropped;
};

/// How many blocks and instructions are listed.
constexpr std::size_t places_listed = 10;

std::string text_of(const summary_of& what);
json to_json(const summary_of& what);

/// Returns a time with a unit: `1.500 ms`.
std::string time_text(std::uint64_t nanoseconds);

} // namespace hmmctl
