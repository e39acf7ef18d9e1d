// SPDX-License-Identifier: MIT
#include "session/session_lanes.hpp"

#include "sys/syscalls.hpp"

#include <utility>

namespace hmmrt {

session_lanes::session_lanes(std::unique_ptr<executor> lanes)
    : executor_(std::move(lanes)),
      ctl_(executor_->shared()),
      first_ticks_(__builtin_ia32_rdtsc()),
      first_milliseconds_(sys::monotonic_milliseconds()) {}

bool session_lanes::lost() {
    if (ended_.load() || !executor_->lost()) return ended_.load();
    lost_.store(!stopping_.load());
    ended_.store(true);
    return true;
}

bool session_lanes::has_running() const {
    for (std::uint32_t i = 0; i < count(); i++)
        if (ctl_.lanes[i].running.load() != 0) return !ended_.load();
    return false;
}

void session_lanes::get_running(running_lanes& out) const {
    const std::uint64_t passed = sys::monotonic_milliseconds() - first_milliseconds_;
    const std::uint64_t now = __builtin_ia32_rdtsc();
    const std::uint64_t each_millisecond = (now - first_ticks_) / (passed + 1) + 1;
    for (std::uint32_t i = 0; i < count(); i++) {
        const lane_control& lane = ctl_.lanes[i];
        if (lane.running.load() == 0) continue;
        out.lane[out.count++] = {i, lane.function.load(), lane.first_item.load(),
                                 lane.item_count.load(),
                                 (now - lane.started.load()) / each_millisecond};
    }
}

void session_lanes::stop() {
    stopping_.store(true);
    executor_->stop();
    ended_.store(true);
}

} // namespace hmmrt
