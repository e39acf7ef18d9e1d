// SPDX-License-Identifier: MIT
// Medians, and bar charts on a terminal and as SVG.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace chart {

struct bar {
    std::string label;
    double milliseconds;
    std::string note;
};

/// Reorders the times.
inline double median(std::vector<double>& times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

inline double longest(const std::vector<bar>& bars) {
    double result = 1e-9;
    for (const bar& each : bars)
        result = std::max(result, each.milliseconds);
    return result;
}

inline void print(const std::vector<bar>& bars) {
    constexpr double width = 40;
    for (const bar& each : bars) {
        const auto length = static_cast<int>(each.milliseconds / longest(bars) * width + 0.5);
        std::printf("%-26s %8.1f ms  %-40s %s\n", each.label.c_str(), each.milliseconds,
                    std::string(static_cast<std::size_t>(std::max(length, 1)), '#').c_str(),
                    each.note.c_str());
    }
}

inline bool write_svg(const std::string& path, const std::string& title,
                      const std::vector<bar>& bars) {
    constexpr int left = 210, width = 420, row = 34, top = 50;
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return false;
    std::fprintf(file,
                 "<svg xmlns='http://www.w3.org/2000/svg' width='920' height='%d' "
                 "font-family='sans-serif' font-size='14'>\n"
                 "<rect width='100%%' height='100%%' fill='white'/>\n"
                 "<text x='20' y='30' font-size='18'>%s</text>\n",
                 top + row * static_cast<int>(bars.size()) + 10, title.c_str());
    int y = top;
    for (const bar& each : bars) {
        const double length = std::max(each.milliseconds / longest(bars) * width, 1.0);
        std::fprintf(file,
                     "<text x='20' y='%d'>%s</text>"
                     "<rect x='%d' y='%d' width='%.1f' height='22' fill='#3b7dd8'/>"
                     "<text x='%.1f' y='%d'>%.1f ms %s</text>\n",
                     y + 17, each.label.c_str(), left, y, length, left + length + 8, y + 17,
                     each.milliseconds, each.note.c_str());
        y += row;
    }
    std::fputs("</svg>\n", file);
    return std::fclose(file) == 0;
}

} // namespace chart
