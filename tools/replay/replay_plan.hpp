// SPDX-License-Identifier: MIT
// What `hmmctl replay` asks hmmctl-replay to do, as JSON in its only argument, and what that
// answers.
#pragma once

#include "json.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace hmmctl {

struct replay_plan {
    std::string trace;                        ///< a file, or empty
    std::vector<std::string> patterns;        ///< NAME or NAME:FOOTPRINT
    std::vector<std::string> policies;        ///< empty for all
    std::vector<std::uint64_t> device_memory; ///< in bytes
    std::string prices = "guest";
    std::uint64_t seed = 1;
    std::string write;  ///< a file for the trace of the pattern, or empty
    bool lists = false; ///< only list policies and prices
};

json to_json(const replay_plan& plan);
/// Throws json::exception if the JSON isn't a plan.
replay_plan plan_of_replay(const json& plan);

} // namespace hmmctl
