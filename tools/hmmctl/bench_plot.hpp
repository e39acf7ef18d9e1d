// SPDX-License-Identifier: MIT
// Plots of a result of `hmmctl bench`, as a script for gnuplot.
#pragma once

#include "bench_result.hpp"

#include <string>

namespace hmmctl {

enum class plot_format { svg, png };

/// Returns a script that prints the plots: a panel of bars for each footprint, and one for the
/// peers. Throws failure if the result has neither.
std::string plot_script(const bench_result& result, plot_format format);

} // namespace hmmctl
