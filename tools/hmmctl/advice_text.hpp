// SPDX-License-Identifier: MIT
// Advice as text, and as the call to insert.
#pragma once

#include "advice_rules.hpp"
#include "json.hpp"
#include "summary_text.hpp"

#include <string>
#include <vector>

namespace hmmctl {

/// Returns a machine-readable name, like `ping_pong`.
std::string kind_name(advice_kind kind);

/// Describes the problem, what to do, and the expected saving, without the call itself.
std::string sentence_of(const advice& what);

/// Returns a C++ statement, with the addresses of the recording.
std::string call_of(const advice& what, const call_to_make& call);

/// The listed advice of a summary, and the names of its instructions.
struct listed_advice {
    std::vector<advice> all;
    /// An element for each piece of advice; empty if its instruction is unknown.
    std::vector<symbol> names, cpu_names;
    std::size_t left_out = 0; ///< number of pieces that aren't listed
};
listed_advice listed_advice_for(const summary_of& what);

/// Returns the profile's section about advice, "" if there is no advice.
std::string advice_text(const summary_of& what);
json advice_json(const summary_of& what);

} // namespace hmmctl
