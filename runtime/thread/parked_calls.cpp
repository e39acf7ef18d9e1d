// SPDX-License-Identifier: MIT
// The calls that a parked thread executes for its lane. This file must not use
// any function of libc, nor errno: see parked_thread.hpp.
#include "agent/syscall.h"
#include "thread/parked_thread.hpp"
#include "thread/signal_target.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <sys/syscall.h>

namespace hmmrt {
namespace {

std::uint64_t arg(int value) {
    return static_cast<std::uint64_t>(value);
}

/// Device code can change the control block at any time: read each word once.
template <class Word>
Word read_once(const Word& word) {
    return const_cast<const volatile Word&>(word);
}

class live_signal_view final : public signal_view {
  public:
    explicit live_signal_view(const parked_context& context) : context_(context) {}

    std::int32_t process() const override { return context_.process; }
    std::int32_t process_group() const override {
        return static_cast<std::int32_t>(raw_syscall(SYS_getpgid, 0));
    }
    bool is_own_thread(std::int32_t tid) const override {
        return raw_syscall(SYS_tgkill, arg(context_.process), arg(tid), 0) == 0;
    }
    bool is_parked_thread(std::int32_t tid) const override {
        for (const auto& thread : context_.threads)
            if (thread.load() == tid) return true;
        return false;
    }
    bool is_default(int signal) const override {
        struct {
            std::uint64_t handler, flags, restorer, mask;
        } action = {};
        const std::int64_t result =
            raw_syscall(SYS_rt_sigaction, arg(signal), 0, address_of(&action), sizeof(action.mask));
        return result == 0 && action.handler == 0;
    }
    int break_signal() const override { return context_.break_signal; }

  private:
    const parked_context& context_;
};

constexpr timespec one_millisecond = {0, 1000000};

/// Calls visit(lane) for each other lane that is inside device code. Returns
/// true if there is one.
template <class Visitor>
bool visit_running(control& ctl, std::uint32_t self, Visitor visit) {
    bool any = false;
    for (std::uint32_t i = 0; i < ctl.lane_count && i < max_lanes; i++) {
        if (i == self || ctl.lanes[i].running.load() == 0) continue;
        any = true;
        visit(ctl.lanes[i]);
    }
    return any;
}

void await_other_lanes(control& ctl, std::uint32_t self) {
    constexpr int grace_milliseconds = 100;
    for (int i = 0; i < grace_milliseconds; i++) {
        if (!visit_running(ctl, self, [](lane_control&) {})) return;
        raw_syscall(SYS_nanosleep, address_of(&one_millisecond), 0);
    }
}

/// The break signal may arrive just before the call that it should interrupt,
/// so repeat it until all lanes have left device code.
void stop_other_lanes(const parked_context& context, control& ctl, std::uint32_t self) {
    constexpr int limit_milliseconds = 10000;
    const auto break_call = [&](const lane_control& lane) {
        if (lane.state.load() == static_cast<std::uint32_t>(call_state::running))
            raw_syscall(SYS_tgkill, arg(context.process), arg(lane.app_tid),
                        arg(context.break_signal));
    };
    for (int i = 0; i < limit_milliseconds; i++) {
        if (!visit_running(ctl, self, break_call)) return;
        raw_syscall(SYS_nanosleep, address_of(&one_millisecond), 0);
    }
}

} // namespace

std::int64_t execute_forwarded_call(parked_context& context, control& ctl, std::uint32_t self) {
    lane_control& lane = ctl.lanes[self];
    const call_kind kind = read_once(lane.kind);
    const std::int64_t number = read_once(lane.number);
    std::uint64_t args[6];
    for (int i = 0; i < 6; i++)
        args[i] = read_once(lane.args[i]);

    switch (kind) {
    case call_kind::await_others:
        await_other_lanes(ctl, self);
        return 0;
    case call_kind::stop_others:
        stop_other_lanes(context, ctl, self);
        return 0;
    case call_kind::signal_call:
        if (signal_ends_launch(number, args, live_signal_view(context))) return call_ends_launch;
        break;
    case call_kind::system_call:
        break;
    default:
        return -EINVAL;
    }
    if (call_is_guarded(number, args, context.guarded, context.break_signal)) return -EINVAL;
    return raw_syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]);
}

} // namespace hmmrt
