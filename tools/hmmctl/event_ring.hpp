// SPDX-License-Identifier: MIT
// The rings into which the kernel writes events: see linux/hmmrt_event.h.
#pragma once

#include "processes.hpp"

#include <linux/hmmrt_event.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hmmctl {

/// Size of an event in the first version of the interface. Later versions append members.
constexpr std::size_t smallest_event = offsetof(hmmrt_event, text);
constexpr std::size_t largest_event = 4096;

/// Reads an event of @event_bytes: missing members become 0, unknown ones are ignored.
hmmrt_event event_from(const void* bytes, std::size_t event_bytes);

/// Events lost because the ring was full, by type.
using event_drops = std::array<std::uint64_t, 64>;

constexpr std::uint32_t default_ring_events = 1u << 16;

/// Returns the sum over all types.
std::uint64_t sum_of(const event_drops& dropped);

/// Reads a mapped ring. We check all values in the mapping, because every process that has the ring
/// can write there.
class ring_reader {
  public:
    /// Throws failure if @mapping, of @bytes, isn't a ring that this version can read.
    ring_reader(void* mapping, std::size_t bytes);

    /// Appends the ring's events, returns their space to the kernel, and returns their number.
    /// Throws failure if the ring claims to have more events than it can hold.
    std::size_t read(std::vector<hmmrt_event>& into);
    event_drops dropped() const;

  private:
    hmmrt_event_ring& header_;
    const std::byte* data_;
    std::uint64_t tail_;
    std::uint32_t events_, event_bytes_;
};

/// The source of a recording's events.
class event_source {
  public:
    virtual ~event_source() = default;

    /// Returns a descriptor for poll() that is readable while there are events, and hangs up when
    /// no more will come.
    virtual int poll_descriptor() const = 0;
    virtual std::size_t read(std::vector<hmmrt_event>& into) = 0;
    virtual event_drops dropped() const = 0;
};

/// These open a ring for @events events. They throw failure if that isn't possible.
std::unique_ptr<event_source> open_ring_of_space(const space_file& of, std::uint32_t events);
/// @accesses: record accesses, too
std::unique_ptr<event_source> open_ring_of_children(std::uint32_t events, bool accesses);
std::unique_ptr<event_source> open_ring_of_machine(std::uint32_t events);

} // namespace hmmctl
