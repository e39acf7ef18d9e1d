// SPDX-License-Identifier: MIT
// Compares two results of `hmmctl bench`.
#pragma once

#include "bench_result.hpp"

#include <string>
#include <vector>

namespace hmmctl {

/// A measurement that both results have: a case with the same data, a peer with the same number of
/// operations, or a scaling with the same number of pages.
struct bench_difference {
    std::string pattern, transfer; ///< for a peer or a scaling, "" and its name
    double footprint = 0;
    times before, after;

    /// The ratio of the medians.
    double ratio() const { return after.median() / before.median(); }
    /// Is the difference larger than the spread of either?
    bool is_clear() const;
};

struct bench_comparison {
    std::vector<bench_difference> common;
    unsigned only_before = 0, only_after = 0; ///< cases and peers that the other lacks
    bool same_machine = true;                 ///< as far as the results tell
};

bench_comparison compare(const bench_result& before, const bench_result& after);
json to_json(const bench_comparison& of);
std::string text_of(const bench_comparison& of);

} // namespace hmmctl
