// SPDX-License-Identifier: MIT
#include "failure_watch.hpp"

#include "failure.hpp"
#include "own_memory.hpp"
#include "report.hpp"
#include "session.hpp"

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

} // namespace

/// Outlives the watch if the thread hangs.
struct failure_watch::shared_state {
    std::mutex lock; ///< protects `of`
    session* of;     ///< NULL once the session has ended
    control* ctl;    ///< valid while `of` is
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

    void write(const message& text);
    void write(const fault_block& fault, const char* exception, names how);
    void write_loss();
    void write_wait(unsigned seconds);
    bool look();
    void end_lanes();
    void run();
};

/// Writes the report unless another thread has done so.
void failure_watch::shared_state::write(const message& text) {
    if (!taken.exchange(true) && !quiet) sys::write_error(text.text(), text.size());
    report.store(written);
    sys::wake(report);
}

void failure_watch::shared_state::write(const fault_block& fault, const char* exception,
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
    fault_block fault;
    message exception;
    {
        const std::lock_guard until_taken(lock);
        if (of == nullptr) return true;
        const fault_block* const found = of->fault();
        if (found == nullptr && !of->is_lost()) return false;
        if (found == nullptr) {
            write_loss();
            return true;
        }
        fault = *found;
        exception.add("%s", of->exception_text());
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
        over = of == nullptr || !of->has_running_lanes();
        if (!over && end_now()) {
            of->kill_agent();
            over = true;
        }
    }
}

void failure_watch::shared_state::write_wait(unsigned seconds) {
    running_lanes lanes;
    {
        const std::lock_guard until_taken(lock);
        if (of == nullptr) return;
        of->get_running_lanes(lanes);
    }
    message text;
    add_waiting(text, device, seconds, lanes, names::demangled);
    if (!quiet) sys::write_error(text.text(), text.size());
}

void failure_watch::shared_state::run() {
    for (;;) {
        const std::uint32_t seen = ctl->watch.load();
        const bool last = quit.load();
        if (look() || last) return;
        if (const unsigned seconds = waited.exchange(0); seconds != 0) write_wait(seconds);
        if (launch_limit != 0) of->limit_launches(launch_limit);
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

failure_watch::failure_watch(session& of, control& ctl, const session_options& options)
    : ctl_(ctl), state_(make_own_shared<shared_state>()) {
    state_->of = &of;
    state_->ctl = &ctl;
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
    state_->of = nullptr;
}

void failure_watch::notify() {
    ctl_.watch.fetch_add(1);
    sys::wake(ctl_.watch);
}

void failure_watch::tell_wait(unsigned seconds) {
    state_->waited.store(seconds);
    notify();
}

void failure_watch::await_report(const fault_block* fault, const char* exception) {
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
