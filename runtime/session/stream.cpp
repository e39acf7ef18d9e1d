// SPDX-License-Identifier: MIT
#include "session/stream.hpp"

namespace hmmrt {

stream::stream(device& target, std::shared_ptr<session> running, unsigned flags, int priority)
    : device_(target),
      running_(std::move(running)),
      flags_(flags),
      priority_(priority),
      queue_(running_->take_queue((flags & hmmStreamNonBlocking) == 0, priority < 0)) {}

stream::~stream() {
    running_->give_queue(queue_);
}

/// Threads that submit to the same stream may get here out of order.
void stream::advance(std::uint64_t position) {
    std::uint64_t before = position_.load();
    while (before < position && !position_.compare_exchange_weak(before, position))
        continue;
}

std::shared_ptr<event_point> event::point() const {
    const std::lock_guard lock(lock_);
    return point_;
}

void event::record(std::shared_ptr<event_point> point) {
    const std::lock_guard lock(lock_);
    point_.swap(point);
}

} // namespace hmmrt
