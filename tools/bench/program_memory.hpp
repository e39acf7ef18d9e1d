// SPDX-License-Identifier: MIT
// Memory of measurements, and times.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>

namespace bench {

template <class Function>
double seconds(Function f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Private memory in single pages, new for each measurement.
class mapping {
  public:
    /// Throws std::system_error if there is none.
    explicit mapping(std::size_t bytes);
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping();

    std::byte* data() const { return data_; }
    std::span<std::byte> span() const { return {data_, bytes_}; }

  private:
    std::byte* data_;
    std::size_t bytes_;
};

/// Reads a word of each page, as a program that uses a result there.
void read_pages(const std::byte* at, std::size_t bytes);

} // namespace bench
