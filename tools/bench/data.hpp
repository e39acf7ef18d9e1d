// SPDX-License-Identifier: MIT
// Helpers to make the data sets of patterns.
#pragma once

#include "patterns.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace bench {

/// Pseudo-random numbers that are the same in each run.
class numbers {
  public:
    std::uint64_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return state_;
    }
    std::uint32_t below(std::uint32_t limit) {
        return static_cast<std::uint32_t>((next() >> 32) * limit >> 32);
    }
    /// Returns a number from 0 to 1, so that sums and products of a few of them stay small.
    float fraction() { return static_cast<float>(below(1024)) / 1024; }

  private:
    std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

/// Returns the numbers from @first to @end - 1 in random order.
inline std::vector<std::uint32_t> shuffled(std::uint32_t first, std::uint32_t end) {
    std::vector<std::uint32_t> order(end - first);
    std::iota(order.begin(), order.end(), first);
    numbers random;
    for (auto left = static_cast<std::uint32_t>(order.size()); left > 1; left--)
        std::swap(order[left - 1], order[random.below(left)]);
    return order;
}

constexpr std::size_t whole_pages(std::size_t bytes) {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

/// Allocates the arrays of a data set, each at the start of a page.
class arrays {
  public:
    explicit arrays(std::byte* at) : at_(at) {}

    template <class T>
    T* next(std::size_t count) {
        T* const result = reinterpret_cast<T*>(at_ + used_);
        used_ += whole_pages(count * sizeof(T));
        return result;
    }
    /// Returns the number of allocated bytes.
    std::size_t used() const { return used_; }

  private:
    std::byte* at_;
    std::size_t used_ = 0;
};

/// Returns how many elements of @each bytes fit, spread over @arrays arrays.
constexpr std::size_t fitting(std::size_t bytes, std::size_t each, std::size_t arrays) {
    return (bytes - arrays * page_bytes) / each;
}

} // namespace bench
