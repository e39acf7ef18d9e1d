// SPDX-License-Identifier: MIT
#include "thread/program_signals.hpp"

#include "sys/syscalls.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <pthread.h>
#include <utility>

namespace hmmrt {
namespace {

constexpr std::array signals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
constexpr std::size_t levels = 8;
constexpr int restorer_flag = 0x04000000; ///< SA_RESTORER, set by the C library
constexpr int own_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;

/// A signal action of the program.
struct program_action {
    struct sigaction action = {};
    std::atomic<bool> called{false}; ///< with SA_RESETHAND, the default applies from then on
};

struct taken_signal {
    std::array<program_action, levels> actions; ///< indexed by level
    std::atomic<int> level{-1};                 ///< level of the installed handler
};

std::array<taken_signal, signals.size()> taken_signals;
std::mutex taking;
std::atomic<device_signal_handler> first_handler{nullptr};
std::atomic<int> blocked_signal{0}; ///< in the library's handlers

std::size_t index_of(int signal) {
    std::size_t index = 0;
    while (signals[index] != signal)
        index++;
    return index;
}

bool is_raised(const siginfo_t& info) {
    return info.si_code <= 0;
}

/// Ends the process by the signal. A failed instruction fails again when the
/// handler returns, so that a core file has the registers of that moment. The
/// instruction after a breakpoint doesn't fail.
void deliver_default(int signal, bool failed) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
    if (failed && signal != SIGTRAP) return;
    ::raise(signal);
}

/// @context may be anything: a handler of the program that calls this one
/// passes its own, or nothing.
void call_handler(const struct sigaction& action, int signal, siginfo_t* info, void* context) {
    sigset_t mask;
    sigset_t all;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    sigdelset(&mask, blocked_signal.load());
    sigorset(&all, &mask, &action.sa_mask);
    if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&all, signal);
    pthread_sigmask(SIG_SETMASK, &all, nullptr); // restored when the handler returns
    if ((action.sa_flags & SA_SIGINFO) != 0)
        action.sa_sigaction(signal, info, context);
    else
        action.sa_handler(signal);
}

void pass_on(program_action& to, int signal, siginfo_t* info, void* context) {
    const struct sigaction action = to.action;
    const bool is_handler = (action.sa_flags & SA_SIGINFO) != 0 ||
                            (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
    const bool resets = (action.sa_flags & SA_RESETHAND) != 0;
    if (!is_handler || (resets && to.called.exchange(true))) {
        const bool failed = has_info(signal, info) && !is_raised(*info);
        // a failed instruction can't be ignored
        if (action.sa_handler == SIG_IGN && !is_handler && !failed) return;
        return deliver_default(signal, failed);
    }
    call_handler(action, signal, info, context);
}

template <std::size_t Level>
void handle(int signal, siginfo_t* info, void* context) {
    first_handler.load()(signal, info, context);
    pass_on(taken_signals[index_of(signal)].actions[Level], signal, info, context);
}

using handler = void (*)(int, siginfo_t*, void*);

template <std::size_t... Level>
constexpr std::array<handler, sizeof...(Level)> make_handlers(std::index_sequence<Level...>) {
    return {handle<Level>...};
}

constexpr auto handlers = make_handlers(std::make_index_sequence<levels>());

/// Returns -1 for an action of the program. Ignores the flags, because signal()
/// may have installed the library's handler with other ones.
int level_of(const struct sigaction& action) {
    for (std::size_t i = 0; i < levels; i++)
        if (action.sa_sigaction == handlers[i]) return static_cast<int>(i);
    return -1;
}

struct sigaction own_action(std::size_t level, const struct sigaction& of_program) {
    struct sigaction own = {};
    own.sa_sigaction = handlers[level];
    own.sa_flags = own_flags | (of_program.sa_flags & SA_RESTART);
    sigaddset(&own.sa_mask, blocked_signal.load()); // don't interrupt the recording of a failure
    return own;
}

bool is_whole(const struct sigaction& own) {
    return (own.sa_flags & own_flags) == own_flags &&
           sigismember(&own.sa_mask, blocked_signal.load()) == 1;
}

bool is_same(const struct sigaction& left, const struct sigaction& right) {
    return left.sa_handler == right.sa_handler &&
           ((left.sa_flags ^ right.sa_flags) & ~restorer_flag) == 0 &&
           std::memcmp(&left.sa_mask, &right.sa_mask, sizeof(std::uint64_t)) == 0;
}

/// Returns the level for the action: its previous one, or one above those of
/// all actions that it may call.
std::size_t level_for(const taken_signal& of, const struct sigaction& action) {
    const std::size_t above = static_cast<std::size_t>(of.level.load()) + 1; // level -1: 0
    for (std::size_t i = 0; i < above; i++)
        if (is_same(of.actions[i].action, action)) return i;
    return above < levels ? above : levels - 1;
}

std::size_t keep(taken_signal& of, const struct sigaction& action) {
    const std::size_t free = level_for(of, action);
    of.actions[free].action = action;
    of.actions[free].called.store(false);
    return free;
}

void take(std::size_t index) {
    taken_signal& of = taken_signals[index];
    struct sigaction now;
    if (sigaction(signals[index], nullptr, &now) != 0) return;
    const int level = level_of(now);
    if (level >= 0 && level == of.level.load() && is_whole(now)) return;
    const std::lock_guard lock(taking);
    sigaction(signals[index], nullptr, &now); // another lane may have been faster
    for (struct sigaction found = now;;) {
        const int known = level_of(found);
        const std::size_t kept = known >= 0 ? static_cast<std::size_t>(known) : keep(of, found);
        const struct sigaction own = own_action(kept, of.actions[kept].action);
        of.level.store(static_cast<int>(kept));
        if (is_same(now, own)) return;
        // the program may have installed another one meanwhile
        sigaction(signals[index], &own, &found);
        if (is_same(found, now)) return;
        now = own;
    }
}

} // namespace

bool has_info(int signal, const siginfo_t* info) {
    return sys::is_readable(reinterpret_cast<std::uint64_t>(info), sizeof(*info)) &&
           info->si_signo == signal;
}

void take_program_signals(device_signal_handler first, int stop_signal) {
    first_handler.store(first);
    blocked_signal.store(stop_signal);
    for (std::size_t i = 0; i < signals.size(); i++)
        take(i);
}

} // namespace hmmrt
