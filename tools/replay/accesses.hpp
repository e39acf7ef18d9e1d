// SPDX-License-Identifier: MIT
// The accesses of a pattern of `hmmctl bench`, from its own code: patterns*.cpp are compiled again,
// with calls before each load and store that compilers make for a thread sanitizer.
#pragma once

#include "trace.hpp"

#include <patterns.hpp>

namespace replay {

/// Runs the pattern and returns the device accesses of its run(). The CPU has filled the memory.
///
/// Accesses to the same page are one step if no more than a few other pages are accessed in
/// between, as with a loop over several arrays.
trace trace_of_pattern(const bench::pattern& of, std::size_t bytes);

} // namespace replay
