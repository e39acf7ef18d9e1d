// SPDX-License-Identifier: MIT
// What differs between two results of `hmmctl bench`.
#pragma once

#include "bench_result.hpp"

#include <string>
#include <vector>

namespace hmmctl {

/// What two results have in common: cases of the same data, peers with as many operations, and
/// scaling with as many pages.
struct bench_difference {
    std::string pattern, transfer; ///< for a peer and scaling nothing and its name
    double footprint = 0;
    times before, after;

    /// Of medians.
    double ratio() const { return after.median() / before.median(); }
    /// Is the difference larger than the spread of either?
    bool is_clear() const;
};

struct bench_comparison {
    std::vector<bench_difference> common;
    unsigned only_before = 0, only_after = 0; ///< cases and peers that the other lacks
    bool same_machine = true;                 ///< as far as the results say
};

bench_comparison compare(const bench_result& before, const bench_result& after);
json to_json(const bench_comparison& of);
std::string text_of(const bench_comparison& of);

} // namespace hmmctl
