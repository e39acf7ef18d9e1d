// SPDX-License-Identifier: MIT
// The commands of `hmmctl bench`. The helper hmmctl-bench does the measurements, because only it
// is linked with the runtime.
#pragma once

#include "bench_plan.hpp"
#include "commands.hpp"

#include <string>

namespace hmmctl {

/// Lists patterns, transfers, peers and scalings.
output list_bench(bool as_json);
/// Measures. Also writes the JSON to the file @to, unless that is empty.
output run_bench(const bench_plan& plan, bool as_json, const std::string& to);
/// Compares two files.
output compare_bench(const std::string& before, const std::string& after, bool as_json);
/// Plots a file of results into @to, whose name ends with .svg or .png.
output plot_bench(const std::string& from, const std::string& to);

} // namespace hmmctl
