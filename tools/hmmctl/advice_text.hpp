// SPDX-License-Identifier: MIT
// Advice in words, and as the call to insert.
#pragma once

#include "advice_rules.hpp"
#include "json.hpp"
#include "summary_text.hpp"

#include <string>
#include <vector>

namespace hmmctl {

/// Returns a name for programs, as `ping_pong`.
std::string kind_name(advice_kind kind);

/// Returns what happens, what to do, and what that saves, without the call.
std::string sentence_of(const advice& what);

/// Returns a statement in C++, for the addresses of the recording.
std::string call_of(const advice& what, const call_to_make& call);

/// Returns the advice for a summary that is listed, and the names of its instructions.
struct listed_advice {
    std::vector<advice> all;
    /// One for each, of devices and of the CPU; empty ones without an instruction.
    std::vector<symbol> names, cpu_names;
    std::size_t left_out = 0; ///< further advice
};
listed_advice listed_advice_for(const summary_of& what);

/// Returns the part of a profile, "" without advice.
std::string advice_text(const summary_of& what);
json advice_json(const summary_of& what);

} // namespace hmmctl
