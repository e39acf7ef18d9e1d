// SPDX-License-Identifier: MIT
// Reads events from a ring as they arrive, until the recorded processes end.
#pragma once

#include "allocation_file.hpp"
#include "child.hpp"
#include "event_ring.hpp"
#include "symbols.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace hmmctl {

/// The consumer of a recording.
class event_sink {
  public:
    virtual ~event_sink() = default;

    virtual void take(std::span<const hmmrt_event> events) = 0;
    /// Replaces what the sink knows about the process's space.
    virtual void take(const observed_process& process) = 0;
    /// Records arrive before the events that are later than they are.
    virtual void take(std::span<const allocation_record>) {}
};

/// Tracks the processes of the events. We look at a process when its first event arrives, and again
/// when it has loaded more code.
class process_watch {
  public:
    explicit process_watch(event_sink& sink, std::string proc = "/proc")
        : sink_(sink), proc_(std::move(proc)) {}

    /// Adds a process that was looked at before its first event.
    void add(const observed_process& process);
    void look(std::span<const hmmrt_event> events);
    /// Looks at processes again for the code of allocating calls.
    void look(std::span<const allocation_record> records);
    /// Is any of the processes still using its space?
    bool any_left() const;

  private:
    struct seen {
        observed_process process;
        unsigned looks = 0;
        std::uint64_t batch = 0; ///< in which we last looked at it
    };
    void look_again(seen& of);

    event_sink& sink_;
    std::string proc_;
    std::map<std::uint64_t, seen> spaces_;
    std::uint64_t batch_ = 0;
};

/// What to record, and when to end, apart from signals and the end of the source.
struct recording_limits {
    const child* command = nullptr;          ///< ends with it and its descendants' spaces
    double seconds = 0;                      ///< ends after that time, 0 for no limit
    std::optional<observed_process> process; ///< what we know before the first event
    allocation_source* allocations = nullptr;
};

struct recording {
    std::uint64_t events = 0;
    event_drops dropped = {};
    std::uint64_t allocations = 0, dropped_allocations = 0; ///< numbers of records
    std::uint64_t end = 0;                                  ///< nanoseconds of CLOCK_MONOTONIC
};

/// Records until a limit is reached, the source hangs up, or a signal arrives. If there is a
/// command, the first signal goes to it instead, and the recording ends with the command.
recording record(event_source& source, event_sink& sink, const signal_watch& signals,
                 const recording_limits& limits);

} // namespace hmmctl
