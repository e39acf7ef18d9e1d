// SPDX-License-Identifier: MIT
#include "timeline.hpp"

#include "event_names.hpp"

#include <algorithm>
#include <utility>

namespace hmmctl {

void device_bucket::add(const device_bucket& more) {
    device_faults += more.device_faults;
    cpu_faults += more.cpu_faults;
    pages_in += more.pages_in;
    pages_out += more.pages_out;
    pages_evicted += more.pages_evicted;
    for (std::size_t i = 0; i < phases.size(); i++)
        phases[i] += more.phases[i];
}

void block_bucket::add(const block_bucket& more) {
    device_faults += more.device_faults;
    cpu_faults += more.cpu_faults;
    pages_in += more.pages_in;
    pages_out += more.pages_out;
}

void timeline::add(std::span<const hmmrt_event> events) {
    for (const hmmrt_event& event : events)
        add(event);
}

void timeline::add(const hmmrt_event& event) {
    switch (event.type) {
    case HMMRT_EVENT_DEVICE_FAULT: {
        const std::size_t bucket = bucket_at(event.time);
        device_bucket& device = of_device(event.device, bucket);
        device.device_faults++;
        for (std::size_t i = 0; i < HMMRT_EVENT_PHASES; i++)
            device.phases[i] += event.phase[i];
        blocks_[{event.space, block_of(event.addr)}][bucket].device_faults++;
        return;
    }
    case HMMRT_EVENT_CPU_FAULT: {
        const std::size_t bucket = bucket_at(event.time);
        of_device(event.from, bucket).cpu_faults++;
        blocks_[{event.space, block_of(event.addr)}][bucket].cpu_faults++;
        return;
    }
    case HMMRT_EVENT_MIGRATION:
        if (is_device(event.from) || is_device(event.to))
            add_migration(event, bucket_at(event.time));
        return;
    default:
        return;
    }
}

void timeline::add_migration(const hmmrt_event& event, std::size_t bucket) {
    if (is_device(event.to)) of_device(event.to, bucket).pages_in += event.pages;
    if (is_device(event.from)) {
        device_bucket& from = of_device(event.from, bucket);
        from.pages_out += event.pages;
        if (event.cause == HMMRT_CAUSE_EVICTION) from.pages_evicted += event.pages;
    }
    for_each_block(event, [&](block_key key, std::size_t, std::size_t pages) {
        block_bucket& block = blocks_[key][bucket];
        if (is_device(event.to)) block.pages_in += pages;
        if (is_device(event.from)) block.pages_out += pages;
    });
}

std::size_t timeline::bucket_at(std::uint64_t time) {
    const std::uint64_t since = time > start_ ? time - start_ : 0;
    while (since / width_ >= most_buckets)
        widen();
    const std::size_t bucket = since / width_;
    buckets_ = std::max(buckets_, bucket + 1);
    return bucket;
}

/// Merges the buckets in pairs.
void timeline::widen() {
    width_ *= 2;
    buckets_ = (buckets_ + 1) / 2;
    for (auto& [id, buckets] : devices_) {
        for (std::size_t i = 1; i < buckets.size(); i++) {
            if (i % 2 == 0)
                buckets[i / 2] = buckets[i];
            else
                buckets[i / 2].add(buckets[i]);
        }
        buckets.resize((buckets.size() + 1) / 2);
    }
    for (auto& [key, buckets] : blocks_) {
        std::map<std::size_t, block_bucket> joined;
        for (const auto& [bucket, sums] : buckets)
            joined[bucket / 2].add(sums);
        buckets = std::move(joined);
    }
}

device_bucket& timeline::of_device(std::uint32_t location, std::size_t bucket) {
    std::vector<device_bucket>& buckets =
        devices_[is_device(location) ? location : HMMRT_LOCATION_NONE];
    if (buckets.size() <= bucket) buckets.resize(bucket + 1);
    return buckets[bucket];
}

} // namespace hmmctl
