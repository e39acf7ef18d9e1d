// SPDX-License-Identifier: MIT
// Sums of events over equal parts of a recording's time.
#pragma once

#include "block_activity.hpp"
#include "summary.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace hmmctl {

/// The activity of a device in one part of the time.
struct device_bucket {
    std::uint64_t device_faults = 0;
    std::uint64_t cpu_faults = 0; ///< on pages in its memory
    std::uint64_t pages_in = 0, pages_out = 0;
    std::uint64_t pages_evicted = 0; ///< the part of pages_out that made memory available
    phase_times phases = {};         ///< of device faults

    void add(const device_bucket& more);
};

/// The activity in a block in one part of the time, on all devices.
struct block_bucket {
    std::uint64_t device_faults = 0, cpu_faults = 0, pages_in = 0, pages_out = 0;

    void add(const block_bucket& more);
};

/// We don't know a recording's length before its end, so buckets are short at first. When there are
/// too many, we merge them in pairs, which bounds the size.
class timeline {
  public:
    static constexpr std::size_t most_buckets = 240;
    static constexpr std::uint64_t shortest_bucket = 1024; ///< nanoseconds

    /// @start is in nanoseconds of CLOCK_MONOTONIC. Events that ended earlier count as of @start.
    explicit timeline(std::uint64_t start) : start_(start) {}

    void add(std::span<const hmmrt_event> events);
    /// Extends the timeline to @end.
    void extend(std::uint64_t end) { bucket_at(end); }

    std::uint64_t bucket_nanoseconds() const { return width_; }
    std::size_t buckets() const { return buckets_; }
    /// By id; HMMRT_LOCATION_NONE has events that don't belong to a device. A vector is shorter
    /// than buckets() if nothing happened later.
    const std::map<std::uint32_t, std::vector<device_bucket>>& devices() const { return devices_; }
    /// By bucket; buckets without activity are missing.
    const std::map<block_key, std::map<std::size_t, block_bucket>>& blocks() const {
        return blocks_;
    }

  private:
    void add(const hmmrt_event& event);
    void add_migration(const hmmrt_event& event, std::size_t bucket);
    std::size_t bucket_at(std::uint64_t time);
    void widen();
    device_bucket& of_device(std::uint32_t location, std::size_t bucket);

    std::uint64_t start_, width_ = shortest_bucket;
    std::size_t buckets_ = 0;
    std::map<std::uint32_t, std::vector<device_bucket>> devices_;
    std::map<block_key, std::map<std::size_t, block_bucket>> blocks_;
};

} // namespace hmmctl
