// SPDX-License-Identifier: MIT
// Rings of events that the kernel writes: see linux/hmmrt_event.h.
#pragma once

#include "processes.hpp"

#include <linux/hmmrt_event.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hmmctl {

/// Bytes of an event in the first version of the interface. Later versions add to its end.
constexpr std::size_t smallest_event = offsetof(hmmrt_event, text);
constexpr std::size_t largest_event = 4096;

/// Returns the event in @event_bytes of memory: members that it does not have are 0, and what is
/// unknown is left out.
hmmrt_event event_from(const void* bytes, std::size_t event_bytes);

/// Events that found the ring full, by type.
using event_drops = std::array<std::uint64_t, 64>;

constexpr std::uint32_t default_ring_events = 1u << 16;

/// Returns the sum for all types.
std::uint64_t sum_of(const event_drops& dropped);

/// Reads a mapped ring. Values in the mapping are checked, as all processes that have the ring can
/// write there.
class ring_reader {
  public:
    /// Throws failure if the first @bytes of @mapping are no ring that this version can read.
    ring_reader(void* mapping, std::size_t bytes);

    /// Appends the events that are in the ring, gives their space back to the kernel, and returns
    /// their number. Throws failure if the ring says that it has more than it can have.
    std::size_t read(std::vector<hmmrt_event>& into);
    event_drops dropped() const;

  private:
    hmmrt_event_ring& header_;
    const std::byte* data_;
    std::uint64_t tail_;
    std::uint32_t events_, event_bytes_;
};

/// Where a recording gets its events from.
class event_source {
  public:
    virtual ~event_source() = default;

    /// Returns a descriptor that can be read from, for poll(), while there are events. It hangs up
    /// when no more will come.
    virtual int poll_descriptor() const = 0;
    virtual std::size_t read(std::vector<hmmrt_event>& into) = 0;
    virtual event_drops dropped() const = 0;
};

/// Opens a ring for @events events. These throw failure if that is not possible here.
std::unique_ptr<event_source> open_ring_of_space(const space_file& of, std::uint32_t events);
std::unique_ptr<event_source> open_ring_of_children(std::uint32_t events);
std::unique_ptr<event_source> open_ring_of_machine(std::uint32_t events);

} // namespace hmmctl
