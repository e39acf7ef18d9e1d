// SPDX-License-Identifier: MIT
// What `hmmctl bench` asks hmmctl-bench to measure, as JSON in its only argument.
#pragma once

#include "json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hmmctl {

struct named {
    std::string_view name, description;
};

/// The values of `--pattern`, `--transfer`, `--peer`, `--scaling` and `--pages`.
const std::vector<named>& bench_patterns();
const std::vector<named>& bench_transfers();
const std::vector<named>& bench_peers();
const std::vector<named>& bench_pages();
const std::vector<named>& bench_scalings();
std::vector<std::string> names_of(const std::vector<named>& list);

/// The pattern's loop on the CPU, as a case in addition to the transfers.
constexpr std::string_view cpu_loop = "cpu";

struct bench_plan {
    std::vector<std::string> patterns, transfers, peers;
    std::vector<double> footprints; ///< fractions of the device's memory
    std::string pages = "single";   ///< one of bench_pages()
    unsigned repeats = 0;
    bool quick = false;
    std::vector<std::string> scaling = {};
};

json to_json(const bench_plan& plan);
/// Throws json::exception if the JSON isn't a plan.
bench_plan plan_from(const json& plan);

} // namespace hmmctl
