// SPDX-License-Identifier: MIT
// Text output: aligned columns, sizes, and names that other users chose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hmmctl {

/// Rows of text in aligned columns. Columns of numbers are right-aligned.
class table {
  public:
    struct column {
        std::string title;
        bool is_number = false;
    };

    explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}

    /// Adds a row with a cell for each column.
    void add(std::vector<std::string> row);
    /// Returns the titles and all rows, one line each, without trailing spaces.
    std::string text() const;

  private:
    std::vector<column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// Writes to standard output and flushes it. Throws failure.
void print_now(const std::string& text);

/// Returns a size with a unit and at most one decimal, like `1.5 GiB`.
std::string size_text(std::uint64_t bytes);

/// Replaces each byte that isn't printable ASCII by `?`, because it could control the terminal.
std::string printable(std::string_view name);

} // namespace hmmctl
