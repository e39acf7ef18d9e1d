// SPDX-License-Identifier: MIT
#include "table.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hmmctl {

void table::add(std::vector<std::string> row) {
    row.resize(columns_.size());
    rows_.push_back(std::move(row));
}

std::string table::text() const {
    std::vector<std::size_t> widths;
    std::vector<std::string> titles;
    for (std::size_t i = 0; i < columns_.size(); i++) {
        titles.push_back(columns_[i].title);
        widths.push_back(columns_[i].title.size());
        for (const auto& row : rows_)
            widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    const auto add_line = [&](const std::vector<std::string>& cells) {
        std::string line;
        for (std::size_t i = 0; i < cells.size(); i++)
            line += columns_[i].is_number ? fmt::format("{:>{}}  ", cells[i], widths[i])
                                          : fmt::format("{:<{}}  ", cells[i], widths[i]);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    };
    add_line(titles);
    for (const auto& row : rows_)
        add_line(row);
    return text;
}

void print_now(const std::string& text) {
    if (std::fputs(text.c_str(), stdout) == EOF || std::fflush(stdout) == EOF)
        throw failure(fmt::format("cannot write the result: {}", std::strerror(errno)));
}

std::string size_text(std::uint64_t bytes) {
    constexpr std::array units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) return fmt::format("{} B", bytes);
    double value = static_cast<double>(bytes) / 1024;
    std::size_t unit = 0;
    // 1023.95 would be printed as 1024.0
    for (; value >= 1023.95 && unit + 1 < units.size(); unit++)
        value /= 1024;
    const std::string digits = fmt::format("{:.1f}", value);
    return fmt::format("{} {}",
                       digits.ends_with(".0") ? digits.substr(0, digits.size() - 2) : digits,
                       units[unit]);
}

std::string printable(std::string_view name) {
    std::string text(name);
    for (char& c : text)
        if (c < ' ' || c > '~') c = '?';
    return text;
}

} // namespace hmmctl
