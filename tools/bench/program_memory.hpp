// SPDX-License-Identifier: MIT
// Memory for measurements.
#pragma once

#include <cstddef>
#include <span>

namespace bench {

/// The pages that a mapping should have, in the order of hmmctl::bench_pages().
enum class page_kind { single, huge, system };

/// Private memory, new for each measurement, aligned to huge pages.
class mapping {
  public:
    /// Throws std::system_error if there isn't enough memory.
    explicit mapping(std::size_t bytes, page_kind pages = page_kind::single);
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping();

    std::byte* data() const { return data_; }
    std::span<std::byte> span() const { return {data_, bytes_}; }

  private:
    std::byte* all_;
    std::size_t all_bytes_;
    std::byte* data_;
    std::size_t bytes_;
};

/// Reads a word of each page, like a program that uses a result there.
void read_pages(const std::byte* at, std::size_t bytes);

} // namespace bench
