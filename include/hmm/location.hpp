// SPDX-License-Identifier: MIT
// Places where memory can be.
#pragma once

#include <hmm/device.hpp>

namespace hmm {

struct host_t {};
/// Names the host as a place for memory.
inline constexpr host_t host;

/// A node of the host; says nothing about whether it exists.
class numa_node {
  public:
    constexpr explicit numa_node(int number) noexcept : number_(number) {}

    constexpr int number() const noexcept { return number_; }

  private:
    int number_;
};

struct current_numa_node_t {};
/// The node that the calling thread is on when it says so.
inline constexpr current_numa_node_t current_numa_node;

/// One of these.
class location {
  public:
    // Each is a place as it stands. NOLINTBEGIN(google-explicit-constructor)
    constexpr location(device where) noexcept : value_{hmmMemLocationTypeDevice, where.number()} {}
    constexpr location(host_t) noexcept : value_{hmmMemLocationTypeHost, 0} {}
    constexpr location(numa_node node) noexcept
        : value_{hmmMemLocationTypeHostNuma, node.number()} {}
    constexpr location(current_numa_node_t) noexcept
        : value_{hmmMemLocationTypeHostNumaCurrent, 0} {}
    // NOLINTEND(google-explicit-constructor)

    constexpr hmmMemLocation get() const noexcept { return value_; }

  private:
    hmmMemLocation value_;
};

} // namespace hmm
