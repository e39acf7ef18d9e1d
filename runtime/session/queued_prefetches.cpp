// SPDX-License-Identifier: MIT
#include "session/queued_prefetches.hpp"

#include <algorithm>

#include <linux/hmmrt.h>

namespace hmmrt {
namespace {

constexpr std::size_t most_entries = 4096;

bool is_done(const queued_prefetches::entry& each) {
    if (!each.done) return true;
    const event_point& point = *each.done;
    return point.running->ended() || point.running->queue(point.queue).reached(point.position);
}

/// Removes [begin, end) from all ranges.
void cut(prefetch_parts& ranges, std::uint64_t begin, std::uint64_t end) {
    prefetch_parts left(own_pool());
    for (const requested_prefetch& each : ranges) {
        if (each.begin < std::min(begin, each.end))
            left.push_back({each.begin, std::min(begin, each.end), each.location});
        if (std::max(end, each.begin) < each.end)
            left.push_back({std::max(end, each.begin), each.end, each.location});
    }
    ranges.swap(left);
}

} // namespace

void queued_prefetches::trim() noexcept {
    while (!entries_.empty() && is_done(entries_.front()))
        entries_.pop_front();
    if (entries_.size() > most_entries) entries_.remove_if(is_done);
}

void queued_prefetches::add(entries& fresh) noexcept {
    const std::lock_guard lock(lock_);
    trim();
    entries_.splice(entries_.end(), fresh);
}

void queued_prefetches::forget_done() noexcept {
    const std::lock_guard lock(lock_);
    entries_.remove_if(is_done);
}

prefetch_parts queued_prefetches::parts_of(std::uint64_t begin, std::uint64_t end) {
    prefetch_parts found(own_pool()), left(own_pool());
    left.push_back({begin, end, HMMRT_LOCATION_NONE});
    const std::lock_guard lock(lock_);
    trim();
    for (auto each = entries_.rbegin(); each != entries_.rend() && !left.empty(); ++each) {
        for (const requested_prefetch& part : left) {
            const std::uint64_t first = std::max(part.begin, each->begin);
            const std::uint64_t last = std::min(part.end, each->end);
            if (first < last) found.push_back({first, last, each->location});
        }
        cut(left, each->begin, each->end);
    }
    found.insert(found.end(), left.begin(), left.end());
    return found;
}

} // namespace hmmrt
