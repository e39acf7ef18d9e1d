// SPDX-License-Identifier: MIT
// Plots of a result of `hmmctl bench`, as a gnuplot script.
#pragma once

#include "bench_result.hpp"

#include <string>

namespace hmmctl {

enum class plot_format { svg, png };

/// Returns a script that writes the plots to standard output: a panel of bars for each footprint,
/// one for the peers, and one for scaling. Throws failure if the result has none of these.
std::string plot_script(const bench_result& result, plot_format format);

} // namespace hmmctl
