// SPDX-License-Identifier: MIT
// Finds out which launches are running and for how long: for messages, and to
// enforce the time limit.
#include "agent/ring.h"
#include "sanitizer.hpp"
#include "session.hpp"

namespace hmmrt {
namespace {

/// True if a lane has taken a part of the entry.
bool has_started(const ring_entry& entry, std::uint32_t sequence) {
    const std::uint64_t cursor = entry.cursor.load();
    return cursor >> 32 == sequence &&
           (entry.done.load() > 0 || static_cast<std::uint32_t>(cursor) < ring_width(entry));
}

} // namespace

bool session::has_running_lanes() const {
    for (std::uint32_t i = 0; i < lanes(); i++)
        if (ctl_->lanes[i].running.load() != 0) return !ended_.load();
    return false;
}

void session::get_running_lanes(running_lanes& out) const {
    const std::uint64_t passed = sys::monotonic_milliseconds() - first_milliseconds_;
    const std::uint64_t now = __builtin_ia32_rdtsc();
    const std::uint64_t each_millisecond = (now - first_ticks_) / (passed + 1) + 1;
    for (std::uint32_t i = 0; i < lanes(); i++) {
        const lane_control& lane = ctl_->lanes[i];
        if (lane.running.load() == 0) continue;
        out.lane[out.count++] = {i, lane.function.load(), lane.first_item.load(),
                                 lane.item_count.load(),
                                 (now - lane.started.load()) / each_millisecond};
    }
}

void session::kill_agent() {
    executor_->kill();
}

/// We can't stop lanes one by one from here, so we kill the agent. The fault is
/// kept as if a lane had recorded it.
void session::fail_for_time(const ring_entry& entry, std::uint64_t milliseconds) {
    fault_block fault = {};
    fault.cause = fault_cause::time_limit;
    fault.system_call = -1;
    fault.function = entry.range.named;
    fault.milliseconds = milliseconds;
    fault.item_count = entry.range.items;
    running_lanes running;
    get_running_lanes(running);
    for (std::uint32_t i = running.count; i-- > 0;) {
        if (running.lane[i].function != fault.function) continue;
        fault.lane = running.lane[i].index;
        fault.first_item = running.lane[i].first_item;
        fault.item_count = running.lane[i].item_count;
    }
    {
        const std::lock_guard lock(fault_lock_);
        auto none = static_cast<std::uint32_t>(sticky_state::none);
        const auto ending = static_cast<std::uint32_t>(sticky_state::ending);
        if (has_fault_.load() || !ctl_->sticky.compare_exchange_strong(none, ending)) return;
        fault_ = fault;
        has_fault_.store(true);
    }
    watch_->notify();
    kill_agent();
}

void session::limit_launches(std::uint64_t milliseconds) {
    if (sanitizer_reports()) return; // the launch is over, and we must not cut off the report
    const std::uint64_t now = sys::monotonic_milliseconds();
    for (std::uint32_t left = used_.load(); left != 0; left &= left - 1) {
        const auto number = static_cast<std::uint32_t>(__builtin_ctz(left));
        launch_time& time = launch_times_[number];
        const work_queue& queue = shared(number);
        const std::uint32_t sequence = queue.completed.load();
        const ring_entry& entry = queue.entries[sequence % ring_entries];
        const entry_kind kind = entry.kind.load();
        const bool runs = queue.submitted.load() != sequence &&
                          (kind == entry_kind::range || kind == entry_kind::serial) &&
                          has_started(entry, sequence);
        if (!runs)
            time.since = 0;
        else if (time.since == 0 || time.sequence != sequence)
            time = {sequence, now};
        else if (now - time.since >= milliseconds)
            return fail_for_time(entry, milliseconds);
    }
}

} // namespace hmmrt
