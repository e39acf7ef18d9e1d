// SPDX-License-Identifier: MIT
// The ring through which a command and its descendants tell about their allocations.
#pragma once

#include "files.hpp"

#include <allocation_ring.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace hmmctl {

/// Where a recording gets allocations from.
class allocation_source {
  public:
    virtual ~allocation_source() = default;

    /// Appends the records that there are, and returns their number.
    virtual std::size_t read(std::vector<allocation_record>& into) = 0;
    /// Returns the number of records that found no space, or were begun by what has ended since.
    virtual std::uint64_t dropped() const = 0;
};

/// A size from which on there are few allocations, and most memory is in them.
constexpr std::uint64_t default_least_allocation = 64 << 10;

/// Records that the ring can have: more than come between two looks at it.
constexpr std::uint64_t allocation_slots = 1u << 15;

class allocation_file : public allocation_source {
  public:
    /// Makes the file. Smaller allocations than @least_bytes have no records. Throws failure.
    explicit allocation_file(std::uint64_t least_bytes, std::uint64_t slots = allocation_slots,
                             std::chrono::nanoseconds patience = std::chrono::seconds(1));
    allocation_file(const allocation_file&) = delete;
    allocation_file& operator=(const allocation_file&) = delete;
    ~allocation_file() override;

    std::size_t read(std::vector<allocation_record>& into) override;
    std::uint64_t dropped() const override;

    const std::string& path() const { return path_; }
    /// Returns the variables, as NAME=VALUE, with which programs write to it. Throws failure if
    /// the library for that is missing.
    std::vector<std::string> environment() const;

  private:
    bool is_given_up();

    std::string path_;
    allocation_ring* ring_ = nullptr;
    std::uint64_t slots_, tail_ = 0, given_up_ = 0;
    /// Whatever writes a record needs microseconds for it, unless it has ended or is stopped.
    std::chrono::nanoseconds patience_;
    /// The slot that was waited for last, and since when.
    std::uint64_t awaited_ = ~std::uint64_t{0};
    std::chrono::steady_clock::time_point since_;
};

} // namespace hmmctl
