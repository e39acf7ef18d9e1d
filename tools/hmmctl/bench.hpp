// SPDX-License-Identifier: MIT
// The commands of `hmmctl bench`. A program beside hmmctl measures, as that takes the runtime.
#pragma once

#include "bench_plan.hpp"
#include "commands.hpp"

#include <string>

namespace hmmctl {

/// Lists patterns, transfers, peers and what scales.
output list_bench(bool as_json);
/// Measures. The JSON also goes to a file, if @to is not empty.
output run_bench(const bench_plan& plan, bool as_json, const std::string& to);
/// Compares two files.
output compare_bench(const std::string& before, const std::string& after, bool as_json);
/// Draws a file of results, into a file that ends with .svg or .png.
output plot_bench(const std::string& from, const std::string& to);

} // namespace hmmctl
