// SPDX-License-Identifier: MIT
// Takes the events of a ring as they come, until what is recorded has ended.
#pragma once

#include "allocation_file.hpp"
#include "child.hpp"
#include "code_map.hpp"
#include "event_ring.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace hmmctl {

/// What a recording is for.
class event_sink {
  public:
    virtual ~event_sink() = default;

    virtual void take(std::span<const hmmrt_event> events) = 0;
    /// Replaces what was said about the space of the process before.
    virtual void take(const observed_process& process) = 0;
    /// They come before the events that are later than they are.
    virtual void take(std::span<const allocation_record>) {}
};

/// Keeps what is known of the processes that events are of. A process is looked at when its first
/// event comes, and again for code that it has loaded since.
class process_watch {
  public:
    explicit process_watch(event_sink& sink, std::string proc = "/proc")
        : sink_(sink), proc_(std::move(proc)) {}

    /// Takes a process that was looked at before its first event.
    void add(const observed_process& process);
    void look(std::span<const hmmrt_event> events);
    /// For the calls that allocated.
    void look(std::span<const allocation_record> records);
    /// Is any of the processes still using its space?
    bool any_left() const;

  private:
    struct seen {
        observed_process process;
        unsigned looks = 0;
        std::uint64_t batch = 0; ///< of events, in which it was looked at last
    };
    void look_again(seen& of);

    event_sink& sink_;
    std::string proc_;
    std::map<std::uint64_t, seen> spaces_;
    std::uint64_t batch_ = 0;
};

/// What a recording is of, and when it ends, beside the end of its source and signals.
struct recording_limits {
    const child* command = nullptr;          ///< with it and all spaces of its descendants
    double seconds = 0;                      ///< after that time, 0 for never
    std::optional<observed_process> process; ///< what is known before the first event
    allocation_source* allocations = nullptr;
};

struct recording {
    std::uint64_t events = 0;
    event_drops dropped = {};
    std::uint64_t allocations = 0, dropped_allocations = 0; ///< numbers of records
    std::uint64_t end = 0;                                  ///< nanoseconds of CLOCK_MONOTONIC
};

/// Records. A signal ends it; with a command the command gets the first one, and ends it by
/// ending.
recording record(event_source& source, event_sink& sink, const signal_watch& signals,
                 const recording_limits& limits);

} // namespace hmmctl
