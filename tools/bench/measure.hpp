// SPDX-License-Identifier: MIT
// Helpers that measure time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace bench {

template <class Function>
double seconds(Function f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Returns the median of the ratios of measurements of the same round, so that
/// both run under the same load of the machine.
inline double median_ratio(const std::vector<double>& of, const std::vector<double>& to) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < of.size(); i++)
        ratios.push_back(of[i] / to[i]);
    return median(ratios);
}

} // namespace bench
