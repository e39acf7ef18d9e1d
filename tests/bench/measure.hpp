// SPDX-License-Identifier: MIT
// Taking times.
#pragma once

#include <algorithm>
#include <chrono>
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

} // namespace bench
