// SPDX-License-Identifier: MIT
// What lanes run and for how long.
#include "session.hpp"

namespace hmmrt {

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
    sys::kill_agent(pidfd_.get(), kill_writer_.get());
}

} // namespace hmmrt
