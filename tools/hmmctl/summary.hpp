// SPDX-License-Identifier: MIT
// Adds up events.
#pragma once

#include "annotations.hpp"
#include "block_activity.hpp"

#include <linux/hmmrt_event.h>

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace hmmctl {

/// How often something happened, how many pages it affected, and how long it took.
struct tally {
    std::uint64_t count = 0, pages = 0, nanoseconds = 0;
    std::uint64_t min_pages = 0, max_pages = 0;

    void add(const hmmrt_event& event);
    bool operator==(const tally&) const = default;
};

using phase_times = std::array<std::uint64_t, HMMRT_EVENT_PHASES>;

struct device_summary {
    tally host_to_device, device_to_host;
    tally device_to_device; ///< to this device
    tally evicted;          ///< the part of device_to_host that made memory available
    tally evictions;        ///< 2 MiB of device memory that were made available, of any process
    tally batches;          ///< faults that were served together
    tally faults, failed_faults;
    tally answered_faults; ///< the part of both that another lane served
    tally replays;
    tally duplicates, dropped_duplicates;
    tally maps, remote_maps;
    tally throttles;
    tally refusals;
    std::array<std::uint64_t, HMMRT_EVENT_THRASHING_RESET + 1> thrashing = {}; ///< by step
    phase_times phases = {}; ///< of faults and failed faults

    bool operator==(const device_summary&) const = default;
};

class summary {
  public:
    /// An address of a space.
    struct place {
        std::uint64_t space = 0, addr = 0;
        bool operator==(const place&) const = default;
        friend bool operator<(const place& a, const place& b) {
            return std::pair(a.space, a.addr) < std::pair(b.space, b.addr);
        }
    };
    using hot = std::vector<std::pair<place, touches>>;

    /// @page_size is that of the machine that recorded the events.
    explicit summary(std::uint32_t page_size = 4096) : page_size_(page_size) {}

    /// Add records before later events, so that events find the allocations that they are about.
    void add(std::span<const allocation_record> records) { annotations_.add(records); }
    void add(std::span<const hmmrt_event> events);

    /// By id; HMMRT_LOCATION_NONE has events that don't belong to a device.
    const std::map<std::uint32_t, device_summary>& devices() const { return devices_; }
    const tally& cpu_faults() const { return cpu_faults_; }
    const phase_times& cpu_phases() const { return cpu_phases_; }
    const tally& invalidations() const { return invalidations_; }
    const tally& prefetches() const { return prefetches_; }
    std::uint64_t events() const { return events_; }
    /// Events by type; types of later modules are in the last element.
    const std::array<std::uint64_t, HMMRT_EVENT_TYPES + 1>& types() const { return types_; }

    const activity::blocks& by_block() const { return activity_.by_block(); }

    /// Returns at most @number blocks, those with the most faults first.
    hot hottest_blocks(std::size_t number) const;
    /// Returns the instructions with the most device faults.
    hot hottest_code(std::size_t number) const;
    /// Likewise for CPU faults, with their time.
    hot hottest_cpu_code(std::size_t number) const;
    const annotation_summary& annotations() const { return annotations_; }

  private:
    void add(const hmmrt_event& event);
    void add_of_device(device_summary& device, const hmmrt_event& event);
    void add_migration(const hmmrt_event& event);
    void add_cpu_fault(const hmmrt_event& event);
    void add_fault(device_summary& device, const hmmrt_event& event);

    std::map<std::uint32_t, device_summary> devices_;
    tally cpu_faults_, invalidations_, prefetches_;
    phase_times cpu_phases_ = {};
    std::uint64_t events_ = 0;
    std::array<std::uint64_t, HMMRT_EVENT_TYPES + 1> types_ = {};
    std::map<place, touches> blocks_, code_, cpu_code_;
    annotation_summary annotations_;
    std::uint32_t page_size_;
    activity activity_;
};

} // namespace hmmctl
