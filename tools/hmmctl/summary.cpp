// SPDX-License-Identifier: MIT
#include "summary.hpp"

#include "event_names.hpp"

#include <algorithm>
#include <cerrno>

namespace hmmctl {
namespace {

void add_phases(phase_times& sums, const hmmrt_event& event) {
    for (std::size_t i = 0; i < sums.size(); i++)
        sums[i] += event.phase[i];
}

} // namespace

void tally::add(const hmmrt_event& event) {
    min_pages = count == 0 ? event.pages : std::min<std::uint64_t>(min_pages, event.pages);
    max_pages = std::max<std::uint64_t>(max_pages, event.pages);
    count++;
    pages += event.pages;
    nanoseconds += event.duration;
}

void summary::add(std::span<const hmmrt_event> events) {
    for (const hmmrt_event& event : events)
        add(event);
}

void summary::add(const hmmrt_event& event) {
    events_++;
    types_[std::min<std::size_t>(event.type, HMMRT_EVENT_TYPES)]++;
    annotations_.add(event, page_size_);
    activity_.add(event);
    switch (event.type) {
    case HMMRT_EVENT_MIGRATION:
        return add_migration(event);
    case HMMRT_EVENT_CPU_FAULT:
        return add_cpu_fault(event);
    case HMMRT_EVENT_INVALIDATE:
        return invalidations_.add(event);
    case HMMRT_EVENT_PREFETCH:
        return prefetches_.add(event);
    case HMMRT_EVENT_BIND:
    case HMMRT_EVENT_UNBIND:
    case HMMRT_EVENT_ADVISE: // nothing to add up
    case HMMRT_EVENT_MARK:
    case HMMRT_EVENT_SECTION:
    case HMMRT_EVENT_NAME:
    case HMMRT_EVENT_ACCESS:
        return;
    default:
        const bool known = event.type > 0 && event.type < HMMRT_EVENT_TYPES;
        const std::uint32_t id = is_device(event.device) ? event.device : HMMRT_LOCATION_NONE;
        if (known) add_of_device(devices_[id], event);
    }
}

void summary::add_cpu_fault(const hmmrt_event& event) {
    cpu_faults_.add(event);
    add_phases(cpu_phases_, event);
    blocks_[{event.space, block_of(event.addr)}].cpu_faults++;
    if (event.ip == 0) return;
    touches& code = cpu_code_[{event.space, event.ip}];
    code.cpu_faults++;
    code.nanoseconds += event.duration;
}

/// A migration counts for the device that gets the pages, or for the one that loses them to the
/// host.
void summary::add_migration(const hmmrt_event& event) {
    if (is_device(event.to)) {
        device_summary& device = devices_[event.to];
        (is_device(event.from) ? device.device_to_device : device.host_to_device).add(event);
    } else if (is_device(event.from)) {
        device_summary& device = devices_[event.from];
        device.device_to_host.add(event);
        if (event.cause == HMMRT_CAUSE_EVICTION) device.evicted.add(event);
    }
}

void summary::add_fault(device_summary& device, const hmmrt_event& event) {
    // The device repeats the access after these two errors, so they aren't failures.
    const bool again = event.error == -EAGAIN || event.error == -EINTR;
    (event.error && !again ? device.failed_faults : device.faults).add(event);
    if (event.parent != 0) device.answered_faults.add(event);
    add_phases(device.phases, event);
    touches& block = blocks_[{event.space, block_of(event.addr)}];
    block.device_faults++;
    block.nanoseconds += event.duration;
    if (event.ip == 0) return;
    touches& code = code_[{event.space, event.ip}];
    code.device_faults++;
    code.nanoseconds += event.duration;
}

void summary::add_of_device(device_summary& device, const hmmrt_event& event) {
    switch (event.type) {
    case HMMRT_EVENT_DEVICE_FAULT:
        return add_fault(device, event);
    case HMMRT_EVENT_FAULT_BATCH:
        return device.batches.add(event);
    case HMMRT_EVENT_REPLAY:
        return device.replays.add(event);
    case HMMRT_EVENT_EVICTION:
        return device.evictions.add(event);
    case HMMRT_EVENT_DUPLICATE:
        return device.duplicates.add(event);
    case HMMRT_EVENT_DUPLICATE_DROP:
        return device.dropped_duplicates.add(event);
    case HMMRT_EVENT_MAP:
        return device.maps.add(event);
    case HMMRT_EVENT_MAP_REMOTE:
        return device.remote_maps.add(event);
    case HMMRT_EVENT_THROTTLE:
        return device.throttles.add(event);
    case HMMRT_EVENT_REFUSAL:
        return device.refusals.add(event);
    case HMMRT_EVENT_THRASHING:
        if (event.reason < device.thrashing.size()) device.thrashing[event.reason]++;
        return;
    default:
        return;
    }
}

summary::hot summary::hottest_blocks(std::size_t number) const {
    return hottest(blocks_, number);
}

summary::hot summary::hottest_code(std::size_t number) const {
    return hottest(code_, number);
}

summary::hot summary::hottest_cpu_code(std::size_t number) const {
    return hottest(cpu_code_, number);
}

} // namespace hmmctl
