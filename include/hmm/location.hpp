// SPDX-License-Identifier: MIT
// Locations of memory.
#pragma once

#include <hmm/device.hpp>

namespace hmm {

struct host_t {};
/// Location: the system memory of the host.
inline constexpr host_t host;

/// A NUMA node of the host. The node need not exist.
class numa_node {
  public:
    constexpr explicit numa_node(int number) noexcept : number_(number) {}

    [[nodiscard]] constexpr int number() const noexcept { return number_; }

  private:
    int number_;
};

struct current_numa_node_t {};
/// Location: the NUMA node of the calling thread at the time of the call.
inline constexpr current_numa_node_t current_numa_node;

/// A memory location: a device, the host, or a NUMA node of the host.
class location {
  public:
    // Devices and nodes convert implicitly.
    // NOLINTBEGIN(google-explicit-constructor)
    constexpr location(device where) noexcept : value_{hmmMemLocationTypeDevice, where.number()} {}
    constexpr location(host_t) noexcept : value_{hmmMemLocationTypeHost, 0} {}
    constexpr location(numa_node node) noexcept
        : value_{hmmMemLocationTypeHostNuma, node.number()} {}
    constexpr location(current_numa_node_t) noexcept
        : value_{hmmMemLocationTypeHostNumaCurrent, 0} {}
    // NOLINTEND(google-explicit-constructor)

    [[nodiscard]] constexpr hmmMemLocation get() const noexcept { return value_; }

  private:
    hmmMemLocation value_;
};

} // namespace hmm
