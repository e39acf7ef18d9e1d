// SPDX-License-Identifier: MIT
#include "session/failure_watch.hpp"

#include "agent/ring.h"
#include "base/failure.hpp"
#include "base/own_memory.hpp"
#include "fault/report.hpp"
#include "fault/sanitizer.hpp"
#include "session/work_request.hpp"
#include "sys/syscalls.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <initializer_list>
#include <mutex>
#include <utility>

namespace hmmrt {
namespace {

constexpr int forever_milliseconds = 3600000;
constexpr int report_limit_milliseconds = 5000;
constexpr int end_limit_seconds = 10;
constexpr int limit_slice_milliseconds = 100;
constexpr int lanes_limit_milliseconds = 15000;

enum report_state : std::uint32_t { nothing, written };

thread_local bool is_watch = false;

/// True if a lane has taken a part of the entry.
bool has_started(const ring_entry& entry, std::uint32_t sequence) {
    const std::uint64_t cursor = entry.cursor.load();
    return cursor >> 32 == sequence &&
           (entry.done.load() > 0 || static_cast<std::uint32_t>(cursor) < ring_width(entry));
}

} // namespace

/// Outlives the watch if the thread hangs.
struct failure_watch::shared_state {
    /// The launch that a queue is running.
    struct launch_time {
        std::uint32_t sequence = 0;
        std::uint64_t since = 0; ///< in milliseconds; 0 if no launch runs
    };

    std::mutex lock;      ///< protects `lanes`
    session_lanes* lanes; ///< NULL once the session has ended
    // valid while `lanes` is
    fault_keeper* faults;
    control* ctl;
    int device;
    bool quiet;
    std::uint64_t launch_limit;      ///< in milliseconds; 0 if there is no limit
    std::atomic<unsigned> waited{0}; ///< in seconds; 0 if there is nothing to report
    /// tells the thread to end, after one more look at the session
    std::atomic<bool> quit{false};
    futex_word report{nothing}; ///< report_state
    /// Set by whoever writes the report: the thread, or another one that waited
    /// too long for it.
    std::atomic<bool> taken{false};
    char place[512] = "";
    std::array<launch_time, queue_count> launch_times; ///< only used by the thread

    void write(const message& text);
    void write(const fault_record& fault, const char* exception, names how);
    void write_loss();
    void write_wait(unsigned seconds);
    bool look();
    void end_lanes();
    void fail_for_time(const ring_entry& entry);
    void limit_launches();
    void run();
};

/// Writes the report unless another thread has done so.
void failure_watch::shared_state::write(const message& text) {
    if (!taken.exchange(true) && !quiet) sys::write_error(text.text(), text.size());
    report.store(written);
    sys::wake(report);
}

void failure_watch::shared_state::write(const fault_record& fault, const char* exception,
                                        names how) {
    message text;
    add_report(text, fault, device, exception, how);
    write(text);
}

void failure_watch::shared_state::write_loss() {
    message text;
    text.add(
        "hmmrt: device %d: its agent process has exited; call hmmDeviceReset() to restart it\n",
        device);
    write(text);
}

/// Checks the session. Returns true if there is nothing left to wait for.
bool failure_watch::shared_state::look() {
    fault_record fault;
    message exception;
    {
        const std::lock_guard until_taken(lock);
        if (lanes == nullptr) return true;
        const fault_record* const found = faults->find();
        if (found == nullptr && !lanes->is_lost()) return false;
        if (found == nullptr) {
            write_loss();
            return true;
        }
        fault = *found;
        exception.add("%s", faults->exception_text());
    }
    message where;
    add_fault_place(where, fault, names::demangled);
    std::snprintf(place, sizeof(place), "%.*s", static_cast<int>(sizeof(place) - 1), where.text());
    write(fault, exception.text(), names::demangled);
    end_lanes();
    return true;
}

/// After a failure, lanes may continue for a moment to release locks. They then
/// end on their own, or the lane that failed stops them. If neither works,
/// kills the agent.
void failure_watch::shared_state::end_lanes() {
    const std::uint64_t deadline = sys::monotonic_milliseconds() + lanes_limit_milliseconds;
    const auto end_now = [&] { return sys::monotonic_milliseconds() >= deadline; };
    for (bool over = false; !over && !quit.load(); sys::sleep_milliseconds(over ? 0 : 10)) {
        const std::lock_guard until_looked(lock);
        over = lanes == nullptr || !lanes->has_running();
        if (!over && end_now()) {
            lanes->kill();
            over = true;
        }
    }
}

void failure_watch::shared_state::write_wait(unsigned seconds) {
    running_lanes running;
    {
        const std::lock_guard until_taken(lock);
        if (lanes == nullptr) return;
        lanes->get_running(running);
    }
    message text;
    add_waiting(text, device, seconds, running, names::demangled);
    if (!quiet) sys::write_error(text.text(), text.size());
}

/// We can't stop lanes one by one from here, so we kill the agent. The fault is
/// kept as if a lane had recorded it, and the next look() reports it.
void failure_watch::shared_state::fail_for_time(const ring_entry& entry) {
    fault_record fault = {};
    fault.cause = fault_cause::time_limit;
    fault.system_call = -1;
    fault.function = entry.range.named;
    fault.milliseconds = launch_limit;
    fault.item_count = entry.range.items;
    running_lanes running;
    lanes->get_running(running);
    for (std::uint32_t i = running.count; i-- > 0;) {
        if (running.lane[i].function != fault.function) continue;
        fault.lane = running.lane[i].index;
        fault.first_item = running.lane[i].first_item;
        fault.item_count = running.lane[i].item_count;
    }
    if (!faults->set(fault)) return;
    ctl->watch.fetch_add(1); // look again
    lanes->kill();
}

/// Fails the device if a launch has taken longer than the limit.
void failure_watch::shared_state::limit_launches() {
    if (sanitizer_reports()) return; // the launch is over, and we must not cut off the report
    const std::lock_guard until_looked(lock);
    if (lanes == nullptr) return;
    const std::uint64_t now = sys::monotonic_milliseconds();
    for (std::uint32_t left = ctl->used.load() & all_queues; left != 0; left &= left - 1) {
        const auto number = static_cast<std::uint32_t>(__builtin_ctz(left));
        launch_time& time = launch_times[number];
        const work_queue& queue = ctl->queues[number];
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
        else if (now - time.since >= launch_limit)
            return fail_for_time(entry);
    }
}

void failure_watch::shared_state::run() {
    for (;;) {
        std::uint32_t seen;
        {
            const std::lock_guard until_read(lock);
            if (lanes == nullptr) return;
            seen = ctl->watch.load();
        }
        const bool last = quit.load();
        if (look() || last) return;
        if (const unsigned seconds = waited.exchange(0); seconds != 0) write_wait(seconds);
        if (launch_limit != 0) limit_launches();
        sys::wait_for_change(ctl->watch, seen,
                             launch_limit != 0 ? limit_slice_milliseconds : forever_milliseconds);
    }
}

void* failure_watch::thread_main(void* argument) {
    const std::unique_ptr<std::shared_ptr<shared_state>> state(
        static_cast<std::shared_ptr<shared_state>*>(argument));
    is_watch = true;
    (*state)->run();
    return nullptr;
}

failure_watch::failure_watch(session_lanes& lanes, fault_keeper& faults,
                             const session_options& options)
    : lanes_(lanes), faults_(faults), state_(make_own_shared<shared_state>()) {
    state_->lanes = &lanes;
    state_->faults = &faults;
    state_->ctl = &lanes.shared();
    state_->device = options.device;
    state_->quiet = options.quiet;
    state_->launch_limit = options.launch_limit;
}

void failure_watch::start() {
    auto start = std::make_unique<std::shared_ptr<shared_state>>(state_);
    sigset_t all, old;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS})
        sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int error = pthread_create(&thread_, nullptr, thread_main, start.get());
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    if (error != 0)
        throw failure(hmmErrorMemoryAllocation,
                      describe_errno("cannot start a watch thread", error));
    started_ = true;
    static_cast<void>(start.release());
    pthread_setname_np(thread_, "hmmrt-watch");
}

void failure_watch::end() {
    if (state_->quit.exchange(true) || !started_) return;
    notify();
    timespec limit = {};
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += end_limit_seconds;
    if (pthread_timedjoin_np(thread_, nullptr, &limit) == 0) return;
    pthread_detach(thread_);
    const std::lock_guard not_used(state_->lock);
    state_->lanes = nullptr;
}

const fault_record* failure_watch::fault() {
    const fault_record* const found = faults_.find();
    if (found != nullptr) await_report(found, faults_.exception_text());
    return found;
}

bool failure_watch::lost() {
    if (lanes_.ended()) return true;
    if (!lanes_.lost()) return false;
    const std::uint32_t sticky = lanes_.shared().sticky.load();
    if (lanes_.is_lost() && sticky == static_cast<std::uint32_t>(sticky_state::none))
        await_report(nullptr);
    return true;
}

/// Makes the thread check the session.
void failure_watch::notify() {
    futex_word& word = lanes_.shared().watch;
    word.fetch_add(1);
    sys::wake(word);
}

void failure_watch::tell_wait(unsigned seconds) {
    state_->waited.store(seconds);
    notify();
}

/// Waits until the report of a failure is written. @fault is NULL if the agent
/// has ended. Returns immediately if called by the thread itself.
void failure_watch::await_report(const fault_record* fault, const char* exception) {
    if (is_watch || state_->report.load() == written) return;
    const std::uint64_t deadline = sys::monotonic_milliseconds() + report_limit_milliseconds;
    notify();
    while (state_->report.load() != written) {
        if (sys::monotonic_milliseconds() < deadline)
            sys::wait_for_change(state_->report, nothing, 100);
        else if (fault != nullptr)
            state_->write(*fault, exception, names::raw);
        else
            state_->write_loss();
    }
}

const char* failure_watch::place() const {
    return state_->report.load() == written ? state_->place : "";
}

} // namespace hmmrt
