// SPDX-License-Identifier: MIT
/*
 * Streams and events.
 *
 * A stream is a queue of a session, shared with other streams, and the place behind its
 * own last work. An event is a place in a queue. Both belong to a device and go with its
 * reset; work that is queued needs neither.
 */
#pragma once

#include "session.hpp"

namespace hmmrt {

class device;

class stream {
  public:
    stream(device& home, std::shared_ptr<session> running, unsigned flags, int priority);
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream();

    device& home() const { return home_; }
    const std::shared_ptr<session>& running() const { return running_; }
    std::uint32_t queue() const { return queue_; }
    unsigned flags() const { return flags_; }
    int priority() const { return priority_; }

    /// The place behind its last work.
    std::uint64_t place() const { return place_.load(); }
    void advance(std::uint64_t place);

  private:
    device& home_;
    std::shared_ptr<session> running_;
    unsigned flags_;
    int priority_;
    std::uint32_t queue_;
    std::atomic<std::uint64_t> place_{0};
};

class event {
  public:
    event(device& home, unsigned flags) : home_(home), flags_(flags) {}

    device& home() const { return home_; }
    bool timed() const { return (flags_ & hmmEventDisableTiming) == 0; }

    /// Where it was recorded last, NULL if never.
    std::shared_ptr<event_point> point() const;
    void record(std::shared_ptr<event_point> point);

  private:
    device& home_;
    const unsigned flags_;
    mutable std::mutex lock_;
    std::shared_ptr<event_point> point_;
};

} // namespace hmmrt
