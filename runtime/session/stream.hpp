// SPDX-License-Identifier: MIT
/*
 * Streams and events.
 *
 * A stream is a queue of a session, possibly shared with other streams, and the
 * position after the stream's last work. An event is a position in a queue.
 * Both belong to a device, whose reset destroys them. Queued work doesn't
 * depend on these objects.
 */
#pragma once

#include "session/session.hpp"

namespace hmmrt {

class device;

class stream {
  public:
    stream(device& target, std::shared_ptr<session> running, unsigned flags, int priority);
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream();

    device& get_device() const { return device_; }
    const std::shared_ptr<session>& running() const { return running_; }
    std::uint32_t queue() const { return queue_; }
    unsigned flags() const { return flags_; }
    int priority() const { return priority_; }

    /// The position after the stream's last work.
    std::uint64_t position() const { return position_.load(); }
    void advance(std::uint64_t position);

  private:
    device& device_;
    std::shared_ptr<session> running_;
    unsigned flags_;
    int priority_;
    std::uint32_t queue_;
    std::atomic<std::uint64_t> position_{0};
};

class event {
  public:
    event(device& target, unsigned flags) : device_(target), flags_(flags) {}

    device& get_device() const { return device_; }
    bool timed() const { return (flags_ & hmmEventDisableTiming) == 0; }

    /// The last recorded position, NULL if the event was never recorded.
    std::shared_ptr<event_point> point() const;
    void record(std::shared_ptr<event_point> point);

  private:
    device& device_;
    const unsigned flags_;
    mutable std::mutex lock_;
    std::shared_ptr<event_point> point_;
};

} // namespace hmmrt
