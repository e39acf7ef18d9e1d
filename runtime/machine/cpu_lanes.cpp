// SPDX-License-Identifier: MIT
#include "machine/cpu_lanes.hpp"

#include "agent/lane_loop.h"
#include "base/failure.hpp"
#include "base/tsan_order.hpp"
#include "machine/cpu_machine.hpp"
#include "sys/fd.hpp"
#include "thread/exit_guard.hpp"
#include "thread/lane_escape.hpp"
#include "thread/lane_thread.hpp"

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <initializer_list>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace hmmrt {

struct cpu_lane {
    lane_position position;
    pthread_t thread = {};
    std::atomic<bool> ended{false};
};

/// The state of all lanes of a session. Lives as long as any of them.
struct cpu_lane_set {
    cpu_lane_set(cpu_machine& of, std::uint32_t wanted) : owner(of), count(wanted) {
        constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
        const std::int64_t result = sys::map(0, control_size, PROT_READ | PROT_WRITE, flags, -1);
        if (result < 0)
            throw failure(
                hmmErrorMemoryAllocation,
                describe_errno("cannot allocate the control block", static_cast<int>(result)));
        memory = mapping(static_cast<std::uint64_t>(result), control_size);
        ctl = new (reinterpret_cast<void*>(result)) control{};
    }

    cpu_machine& owner;
    const std::uint32_t count; ///< lanes
    int stop_signal = 0;
    mapping memory;
    control* ctl;
    std::atomic<bool> quit{false};
    cpu_lane lanes[max_lanes];
};

namespace {

constexpr int grace_milliseconds = 100;
constexpr int end_limit_milliseconds = 10000;
constexpr std::size_t signal_stack_bytes = 64 << 10;
constexpr std::size_t guard_bytes = 64 << 10;
// valgrind mistakes a jump over less than 2 MB for a call or return
constexpr std::size_t stack_distance = 4 << 20;

struct lane_start {
    std::shared_ptr<cpu_lane_set> set;
    std::uint32_t index;
};

/// Tells lanes that are in device code to leave it.
void urge(cpu_lane_set& set, const cpu_lane* except) {
    for (std::uint32_t i = 0; i < set.count; i++) {
        const lane_control& lane = set.ctl->lanes[i];
        if (&set.lanes[i] != except && lane.running.load() != 0)
            sys::signal_thread(lane.app_tid, set.stop_signal);
    }
}

bool others_run(const cpu_lane_set& set, const cpu_lane& self) {
    for (std::uint32_t i = 0; i < set.count; i++)
        if (&set.lanes[i] != &self && set.ctl->lanes[i].running.load() != 0) return true;
    return false;
}

/// Like the agent, gives other lanes a moment to end by themselves, because
/// they may hold locks of the C library.
void stop_other_lanes(cpu_lane_set& set, const cpu_lane& self) {
    for (int i = 0; i < grace_milliseconds && others_run(set, self); i++)
        sys::sleep_milliseconds(1);
    set.ctl->sticky.store(static_cast<std::uint32_t>(sticky_state::stopping));
    for (int i = 0; i < end_limit_milliseconds && others_run(set, self); i++) {
        urge(set, &self);
        sys::sleep_milliseconds(1);
    }
}

/// See lane_loop.h.
class cpu_port {
  public:
    cpu_port(cpu_lane_set& set, cpu_lane& self)
        : ctl(*set.ctl), shared(*self.position.shared), set_(set), self_(self) {}

    control& ctl;
    lane_control& shared;

    bool ended() const { return set_.quit.load(); }
    void begin(const piece& mine) { tsan_order::begin(ctl, mine); }
    void end(const piece& mine) { tsan_order::end(mine); }

    void run(const range_work& work, std::uint64_t begin, std::uint64_t end) {
        if (!run_device_code(self_.position, work, begin, end) &&
            std::exchange(self_.position.failed, false))
            stop_other_lanes(set_, self_);
    }

    int prefetch(hmmrt_prefetch& request) { return call(&cpu_machine::prefetch, request); }
    int advise(hmmrt_advise& request) { return call(&cpu_machine::advise, request); }
    int discard(const discard_work& work) {
        return sys::advise(work.addr, work.len, MADV_DONTNEED);
    }

    std::uint64_t now() {
        timespec time;
        ::clock_gettime(CLOCK_MONOTONIC, &time);
        return static_cast<std::uint64_t>(time.tv_sec) * 1000000000 +
               static_cast<std::uint64_t>(time.tv_nsec);
    }

  private:
    template <class Request>
    int call(int (cpu_machine::*operation)(Request&), Request& request) {
        try {
            return (set_.owner.*operation)(request);
        } catch (const std::bad_alloc&) {
            return -ENOMEM;
        }
    }

    cpu_lane_set& set_;
    cpu_lane& self_;
};

/// A stack for signal handlers, which must run even if the thread's own
/// overflows. It is far from other stacks. Sanitizers provide their own.
class signal_stack {
  public:
    signal_stack() {
        stack_t now = {};
        if (::sigaltstack(nullptr, &now) == 0 && (now.ss_flags & SS_DISABLE) == 0) return;
        constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        constexpr std::size_t bytes = 2 * stack_distance + signal_stack_bytes;
        const std::int64_t all = sys::map(0, bytes, PROT_NONE, flags, -1);
        if (all < 0) return;
        memory_ = mapping(static_cast<std::uint64_t>(all), bytes);
        const std::uint64_t stack = memory_.address() + stack_distance;
        if (sys::map(stack, signal_stack_bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1) < 0)
            return;
        now = {};
        now.ss_sp = reinterpret_cast<void*>(stack);
        now.ss_size = signal_stack_bytes;
        ::sigaltstack(&now, nullptr);
    }
    signal_stack(const signal_stack&) = delete;
    signal_stack& operator=(const signal_stack&) = delete;
    ~signal_stack() {
        if (memory_.bytes() == 0) return;
        stack_t none = {};
        none.ss_flags = SS_DISABLE;
        ::sigaltstack(&none, nullptr);
    }

  private:
    mapping memory_;
};

/// Describes the thread in the control block, like a parked thread does.
void lend_identity(lane_control& lane) {
    pthread_attr_t attributes;
    void* stack = nullptr;
    std::size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &stack, &bytes);
        pthread_attr_destroy(&attributes);
    }
    lane.stack_low = reinterpret_cast<std::uint64_t>(stack);
    lane.stack_top = lane.stack_low + bytes;
    lane.stack_bytes = bytes;
    lane.fs_base = static_cast<std::uint64_t>(pthread_self());
    lane.app_tid = ::gettid();
    lane.agent_tid.store(static_cast<std::uint32_t>(lane.app_tid));
}

void* lane_main(void* argument) {
    const std::unique_ptr<lane_start> start(static_cast<lane_start*>(argument));
    cpu_lane& self = start->set->lanes[start->index];
    const signal_stack stack;
    guard_exit_of_lane();
    mark_thread_as_lane(true);
    set_lane_position(&self.position);
    lend_identity(*self.position.shared);
    lane_loop(cpu_port(*start->set, self)).run();
    mark_thread_as_lane(false);
    set_lane_position(nullptr);
    self.ended.store(true);
    return nullptr;
}

} // namespace

cpu_lanes::cpu_lanes(cpu_machine& owner, const executor_options& options)
    : owner_(owner),
      options_(options),
      set_(std::allocate_shared<cpu_lane_set>(own_memory_allocator<cpu_lane_set>(), owner,
                                              options.lanes)) {
    control& ctl = *set_->ctl;
    ctl.magic = control_magic;
    ctl.version = control_version;
    ctl.lane_count = options.lanes;
    ctl.strict.store(options.strict ? 1 : 0);
    set_->stop_signal = install_lane_handlers();
    if (set_->stop_signal == 0)
        throw failure(hmmErrorInitializationError,
                      "no real-time signal is free: the program uses all of them");
    for (std::uint32_t i = 0; i < options.lanes; i++) {
        lane_position& position = set_->lanes[i].position;
        position.ctl = &ctl;
        position.shared = &ctl.lanes[i];
        position.quit = &set_->quit;
        position.index = i;
        set_->lanes[i].ended.store(true); // until it is started
    }
    try {
        for (std::uint32_t i = 0; i < options.lanes; i++)
            start_lane(i);
    } catch (...) {
        stop();
        throw;
    }
    ctl.state.store(static_cast<std::uint32_t>(agent_state::ready));
}

cpu_lanes::~cpu_lanes() {
    stop();
}

control& cpu_lanes::shared() {
    return *set_->ctl;
}

void cpu_lanes::start_lane(std::uint32_t index) {
    cpu_lane& lane = set_->lanes[index];
    const std::size_t stack_bytes = lane_stack_bytes();
    auto start = std::make_unique<lane_start>(lane_start{set_, index});
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_attr_setguardsize(&attributes, guard_bytes);
    sigset_t blocked, old;
    sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
        sigdelset(&blocked, own);
    sigdelset(&blocked, set_->stop_signal);
    pthread_sigmask(SIG_SETMASK, &blocked, &old);
    lane.ended.store(false);
    const int error = pthread_create(&lane.thread, &attributes, lane_main, start.get());
    if (error != 0) lane.ended.store(true);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    pthread_attr_destroy(&attributes);
    if (error != 0)
        throw failure(hmmErrorMemoryAllocation, describe_start_error(stack_bytes, error));
    static_cast<void>(start.release());
    char name[16];
    std::snprintf(name, sizeof(name), "hmmrt-lane%u", index);
    pthread_setname_np(lane.thread, name);
}

/// Tells lanes to end once they aren't in device code.
void cpu_lanes::ask_to_end() {
    set_->quit.store(true);
    set_->ctl->doorbell.fetch_add(1);
    sys::wake(set_->ctl->doorbell);
}

bool cpu_lanes::all_ended() const {
    for (std::uint32_t i = 0; i < options_.lanes; i++)
        if (!set_->lanes[i].ended.load()) return false;
    return true;
}

void cpu_lanes::kill() {
    ask_to_end();
    urge(*set_, nullptr);
    std::uint64_t never = 0;
    killed_at_.compare_exchange_strong(never, sys::monotonic_milliseconds());
}

/// Lanes that don't leave device code count as lost after a limit, so that
/// threads waiting for them continue.
bool cpu_lanes::lost() {
    if (!set_->quit.load()) return false;
    const std::uint64_t killed_at = killed_at_.load();
    return all_ended() || (killed_at != 0 && sys::monotonic_milliseconds() - killed_at >=
                                                 std::uint64_t{end_limit_milliseconds});
}

/// Returns true once all lanes have ended.
bool cpu_lanes::await_end(int milliseconds, bool urged) {
    const std::uint64_t deadline =
        sys::monotonic_milliseconds() + static_cast<std::uint64_t>(milliseconds);
    while (!all_ended()) {
        if (sys::monotonic_milliseconds() >= deadline) return false;
        if (urged) urge(*set_, nullptr);
        sys::sleep_milliseconds(1);
    }
    return true;
}

void cpu_lanes::stop() {
    if (std::exchange(stopped_, true)) return;
    ask_to_end();
    if (!await_end(grace_milliseconds, false)) await_end(end_limit_milliseconds, true);
    for (std::uint32_t i = 0; i < options_.lanes; i++) {
        cpu_lane& lane = set_->lanes[i];
        if (lane.thread == pthread_t{}) continue;
        if (lane.ended.load())
            pthread_join(lane.thread, nullptr);
        else
            pthread_detach(lane.thread);
    }
}

void cpu_lanes::release() {
    if (!std::exchange(released_, true)) owner_.unbind(options_.device_id);
}

} // namespace hmmrt
