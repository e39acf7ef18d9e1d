// SPDX-License-Identifier: MIT
// The ring through which a command and its descendants report their allocations.
#pragma once

#include "lib/files.hpp"

#include <allocation_ring.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace hmmctl {

/// The source of a recording's allocations.
class allocation_source {
  public:
    virtual ~allocation_source() = default;

    /// Appends the available records, and returns their number.
    virtual std::size_t read(std::vector<allocation_record>& into) = 0;
    /// Returns the number of lost records: the ring was full, or their writer never finished them.
    virtual std::uint64_t dropped() const = 0;
};

/// Allocations of at least this size are few, but have most of the memory.
constexpr std::uint64_t default_least_allocation = 64 << 10;

/// The ring's capacity: more records than programs write between two reads.
constexpr std::uint64_t allocation_slots = 1u << 15;

class allocation_file : public allocation_source {
  public:
    /// Creates the file. Allocations smaller than @least_bytes aren't recorded. Throws failure.
    explicit allocation_file(std::uint64_t least_bytes, std::uint64_t slots = allocation_slots,
                             std::chrono::nanoseconds patience = std::chrono::seconds(1));
    allocation_file(const allocation_file&) = delete;
    allocation_file& operator=(const allocation_file&) = delete;
    ~allocation_file() override;

    std::size_t read(std::vector<allocation_record>& into) override;
    std::uint64_t dropped() const override;

    const std::string& path() const { return path_; }
    /// Returns the environment variables, as NAME=VALUE, that make programs write to the file.
    /// Throws failure if the preload library is missing.
    std::vector<std::string> environment() const;

  private:
    bool is_given_up();

    std::string path_;
    allocation_ring* ring_ = nullptr;
    std::uint64_t slots_, tail_ = 0, given_up_ = 0;
    /// How long to wait for an unfinished record. Writing one takes microseconds, unless the
    /// writer has ended or is stopped.
    std::chrono::nanoseconds patience_;
    /// The last slot that we waited for, and since when.
    std::uint64_t awaited_ = ~std::uint64_t{0};
    std::chrono::steady_clock::time_point since_;
};

} // namespace hmmctl
