// SPDX-License-Identifier: MIT
#include "recorder.hpp"

#include "failure.hpp"
#include "intervals.hpp"
#include "processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>

namespace hmmctl {
namespace {

/// Limits how often we look at a process: a JIT compiler keeps generating code.
constexpr unsigned most_looks = 64;
/// Lets events accumulate in the ring, so that we don't wake up for each of them.
constexpr int pause_milliseconds = 10;
/// How often we poll for allocations and for the end of descendants.
constexpr int look_interval = 100; // milliseconds

class recording_loop {
  public:
    recording_loop(event_source& source, event_sink& sink, const signal_watch& signals,
                   const recording_limits& limits)
        : source_(source), sink_(sink), watch_(sink), signals_(signals), limits_(limits) {
        if (limits.process) watch_.add(*limits.process);
        if (limits.seconds > 0)
            deadline_ = nanoseconds_of(CLOCK_MONOTONIC) +
                        static_cast<std::uint64_t>(limits.seconds * nanoseconds_in_second);
    }

    recording run() {
        while (!ended_) {
            wait();
            drain();
        }
        // events that arrived between the last read and the end
        drain();
        if (limits_.allocations) what_.dropped_allocations = limits_.allocations->dropped();
        what_.dropped = source_.dropped();
        what_.end = nanoseconds_of(CLOCK_MONOTONIC);
        return what_;
    }

  private:
    /// Returns poll()'s timeout in milliseconds, -1 for no limit.
    int timeout() const {
        std::int64_t limit = -1;
        if (resting_)
            limit = pause_milliseconds;
        else if (command_ended_ || limits_.allocations)
            limit = look_interval;
        if (!deadline_) return static_cast<int>(limit);
        const std::uint64_t now = nanoseconds_of(CLOCK_MONOTONIC);
        const std::int64_t left =
            now >= deadline_ ? 0 : static_cast<std::int64_t>((deadline_ - now) / 1'000'000) + 1;
        return static_cast<int>(limit < 0 ? left : std::min(limit, left));
    }

    void wait() {
        const int command = limits_.command && !command_ended_ ? limits_.command->get() : -1;
        std::array<pollfd, 3> files = {{
            {resting_ ? -1 : source_.poll_descriptor(), POLLIN, 0},
            {command, POLLIN, 0},
            {signals_.get(), POLLIN, 0},
        }};
        if (poll(files.data(), files.size(), timeout()) < 0 && errno != EINTR)
            throw failure(fmt::format("cannot wait for events: {}", std::strerror(errno)));
        if (files[0].revents & (POLLHUP | POLLERR | POLLNVAL)) ended_ = true;
        if (files[1].revents != 0) command_ended_ = true;
        if (files[2].revents != 0) take_signal();
        if (deadline_ && nanoseconds_of(CLOCK_MONOTONIC) >= deadline_) ended_ = true;
        // don't pause again if all processes of the ring have ended
        if (command_ended_ && !watch_.any_left()) ended_ = true;
    }

    void take_signal() {
        const auto signal = signals_.take();
        if (!signal) return;
        if (!limits_.command || command_ended_ || interrupted_)
            ended_ = true;
        else if (signal->to_this_process_only)
            limits_.command->send(signal->number);
        interrupted_ = true;
    }

    void drain() {
        batch_.clear();
        resting_ = source_.read(batch_) != 0;
        // Read allocations after events: memory is allocated before it is used, so we now have all
        // records that these events need.
        drain_allocations();
        if (!resting_) return;
        watch_.look(batch_);
        sink_.take(batch_);
        what_.events += batch_.size();
    }

    void drain_allocations() {
        records_.clear();
        if (!limits_.allocations || limits_.allocations->read(records_) == 0) return;
        watch_.look(records_);
        sink_.take(records_);
        what_.allocations += records_.size();
    }

    event_source& source_;
    event_sink& sink_;
    process_watch watch_;
    const signal_watch& signals_;
    const recording_limits& limits_;
    std::vector<hmmrt_event> batch_;
    std::vector<allocation_record> records_;
    recording what_;
    std::uint64_t deadline_ = 0;
    bool ended_ = false, resting_ = false, command_ended_ = false, interrupted_ = false;
};

} // namespace

void process_watch::add(const observed_process& process) {
    spaces_[process.space] = {process, 1, 0};
    sink_.take(process);
}

void process_watch::look(std::span<const hmmrt_event> events) {
    batch_++;
    for (const hmmrt_event& event : events) {
        if (event.space == 0 || event.pid <= 0) continue;
        const auto [known, is_new] = spaces_.try_emplace(event.space);
        seen& of = known->second;
        if (is_new) of.process.pid = event.pid;
        of.process.space = event.space;
        if (is_new || (event.ip != 0 && !mapping_of(of.process.code, event.ip))) look_again(of);
    }
}

void process_watch::look(std::span<const allocation_record> records) {
    batch_++;
    for (const allocation_record& record : records)
        for (auto& [space, of] : spaces_) {
            if (of.process.pid != record.pid) continue;
            const bool known = std::all_of(std::begin(record.frames), std::end(record.frames),
                                           [&code = of.process.code](auto ip) {
                                               return ip == 0 || mapping_of(code, ip) != nullptr;
                                           });
            if (!known) look_again(of);
        }
}

/// Keeps what we know if the process has ended, as there is nothing left to see.
void process_watch::look_again(seen& of) {
    if (of.looks == most_looks || of.batch == batch_) return;
    of.looks++;
    of.batch = batch_;
    observed_process now = look_at(of.process.space, of.process.pid, proc_);
    if (of.looks > 1 && now.code.empty()) {
        of.looks = most_looks;
        return;
    }
    of.process = std::move(now);
    sink_.take(of.process);
}

bool process_watch::any_left() const {
    return std::any_of(spaces_.begin(), spaces_.end(),
                       [&](const auto& one) { return has_space(one.second.process.pid, proc_); });
}

recording record(event_source& source, event_sink& sink, const signal_watch& signals,
                 const recording_limits& limits) {
    return recording_loop(source, sink, signals, limits).run();
}

} // namespace hmmctl
