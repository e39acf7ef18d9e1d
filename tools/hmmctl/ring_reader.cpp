// SPDX-License-Identifier: MIT
#include "event_ring.hpp"
#include "failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <numeric>

namespace hmmctl {
namespace {

/// Atomically loads a value that the kernel writes.
std::uint64_t acquire(const __u64& value) {
    return std::atomic_ref<const __u64>(value).load(std::memory_order_acquire);
}

const char* what_is_wrong(const hmmrt_event_ring& header, std::size_t bytes) {
    if (header.version != HMMRT_UAPI_VERSION)
        return "the module has a different version of the interface";
    if (!std::has_single_bit(header.events) || header.events > HMMRT_EVENTS_MAX)
        return "invalid number of events";
    if (header.event_bytes < smallest_event || header.event_bytes > largest_event ||
        header.event_bytes % alignof(hmmrt_event) != 0)
        return "invalid event size";
    if (header.data_bytes < sizeof(hmmrt_event_ring) ||
        header.data_bytes % alignof(hmmrt_event) != 0 || header.data_bytes > bytes ||
        (bytes - header.data_bytes) / header.event_bytes < header.events)
        return "its events are out of bounds";
    return nullptr;
}

/// Throws failure if it isn't a ring. We check a copy of the header, because other processes may
/// change the original.
hmmrt_event_ring checked_copy(const void* mapping, std::size_t bytes) {
    hmmrt_event_ring header;
    if (bytes < sizeof(header)) throw failure("the event ring is corrupted: it is too small");
    std::memcpy(&header, mapping, sizeof(header));
    if (const char* why = what_is_wrong(header, bytes))
        throw failure(fmt::format("cannot read the event ring: {}", why));
    return header;
}

} // namespace

hmmrt_event event_from(const void* bytes, std::size_t event_bytes) {
    hmmrt_event event = {};
    std::memcpy(&event, bytes, std::min(event_bytes, sizeof(event)));
    return event;
}

std::uint64_t sum_of(const event_drops& dropped) {
    return std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0});
}

ring_reader::ring_reader(void* mapping, std::size_t bytes)
    : header_(*static_cast<hmmrt_event_ring*>(mapping)) {
    const hmmrt_event_ring header = checked_copy(mapping, bytes);
    data_ = static_cast<const std::byte*>(mapping) + header.data_bytes;
    tail_ = header.tail;
    events_ = header.events;
    event_bytes_ = header.event_bytes;
}

std::size_t ring_reader::read(std::vector<hmmrt_event>& into) {
    const std::uint64_t there = acquire(header_.head) - tail_;
    if (there > events_)
        throw failure("the event ring is corrupted: it has more events than slots");
    const std::size_t first = into.size();
    into.reserve(first + there);
    for (std::uint64_t i = 0; i < there; i++)
        into.push_back(event_from(data_ + (tail_ + i) % events_ * event_bytes_, event_bytes_));
    tail_ += there;
    std::atomic_ref<__u64>(header_.tail).store(tail_, std::memory_order_release);
    return there;
}

event_drops ring_reader::dropped() const {
    event_drops values;
    static_assert(std::size(decltype(header_.dropped){}) == std::tuple_size_v<event_drops>);
    for (std::size_t type = 0; type < values.size(); type++)
        values[type] = acquire(header_.dropped[type]);
    return values;
}

} // namespace hmmctl
