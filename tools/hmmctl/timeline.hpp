// SPDX-License-Identifier: MIT
// When it happened: sums for equal parts of the time of a recording.
#pragma once

#include "block_activity.hpp"
#include "summary.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace hmmctl {

/// What one device did in one part of the time.
struct device_bucket {
    std::uint64_t device_faults = 0;
    std::uint64_t cpu_faults = 0; ///< on pages in its memory
    std::uint64_t pages_in = 0, pages_out = 0;
    std::uint64_t pages_evicted = 0; ///< the part of pages_out that made memory available
    phase_times phases = {};         ///< of device faults

    void add(const device_bucket& more);
};

/// What happened to one block in one part of the time, on all devices.
struct block_bucket {
    std::uint64_t device_faults = 0, cpu_faults = 0, pages_in = 0, pages_out = 0;

    void add(const block_bucket& more);
};

/// The length of a recording is not known before its end. So buckets begin short, and when there
/// are too many, each becomes twice as long. That keeps the size bounded.
class timeline {
  public:
    static constexpr std::size_t most_buckets = 240;
    static constexpr std::uint64_t shortest_bucket = 1024; ///< nanoseconds

    /// @start: nanoseconds of CLOCK_MONOTONIC. What ended before counts as of that moment.
    explicit timeline(std::uint64_t start) : start_(start) {}

    void add(std::span<const hmmrt_event> events);
    /// Makes the timeline reach to @end.
    void extend(std::uint64_t end) { bucket_at(end); }

    std::uint64_t bucket_nanoseconds() const { return width_; }
    std::size_t buckets() const { return buckets_; }
    /// By id; HMMRT_LOCATION_NONE has what was of no device. A vector can be shorter than
    /// buckets(), then nothing happened later.
    const std::map<std::uint32_t, std::vector<device_bucket>>& devices() const { return devices_; }
    /// By bucket; one is missing if nothing happened in it.
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
