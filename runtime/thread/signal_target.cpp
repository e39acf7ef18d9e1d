// SPDX-License-Identifier: MIT
#include "thread/signal_target.hpp"

#include <csignal>
#include <sys/syscall.h>

namespace hmmrt {
namespace {

struct aim {
    bool own_process = false;
    std::int32_t thread = 0; ///< 0: the process
    int signal = 0;
};

aim resolve(std::int64_t number, const std::uint64_t (&args)[6], const signal_view& view) {
    const auto value = [&](int index) { return static_cast<std::int32_t>(args[index]); };
    const std::int32_t first = value(0);

    switch (number) {
    case SYS_kill:
        return {first == view.process() || first == 0 || first == -1 ||
                    first == -view.process_group(),
                0, value(1)};
    case SYS_rt_sigqueueinfo:
        return {first == view.process(), 0, value(1)};
    case SYS_tkill:
        return {view.is_own_thread(first), first, value(1)};
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo:
        return {first == view.process(), value(1), value(2)};
    default:
        return {};
    }
}

bool harmless_by_default(int signal) {
    return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
}

} // namespace

bool signal_ends_launch(std::int64_t number, const std::uint64_t (&args)[6],
                        const signal_view& view) {
    constexpr int highest = 64, first_of_libc = 32, last_of_libc = 33;
    const aim target = resolve(number, args, view);
    if (!target.own_process || target.signal <= 0 || target.signal > highest) return false;
    if (harmless_by_default(target.signal)) return false;
    if (target.signal == SIGKILL || target.signal == SIGSTOP) return true;
    // setuid() and pthread_cancel() use these signals, which no thread blocks.
    if (target.signal >= first_of_libc && target.signal <= last_of_libc) return false;
    if (target.thread != 0 && view.is_parked_thread(target.thread))
        return target.signal != view.break_signal();
    return view.is_default(target.signal);
}

} // namespace hmmrt
