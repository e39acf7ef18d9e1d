// SPDX-License-Identifier: MIT
/*
 * What becomes of a system call that device code makes. docs/device-syscalls.md
 * is this file in words; keep them together.
 *
 * A lane borrows the identity of a parked thread of the application, which
 * executes its calls. So a call is forwarded unless
 *  - it is about the calling thread's own machine state (that is the lane's, in
 *    another process), or would pull the borrowed thread from under the lane, or
 *  - it makes tasks, or waits for signals that are blocked there.
 */
#pragma once

#include <cerrno>
#include <cstdint>
#include <sys/syscall.h>

namespace hmmrt {

enum class call_action : std::uint8_t {
    forward,     ///< the parked thread executes it
    answer,      ///< `value` is the result; nothing is executed
    signal,      ///< the parked thread decides by looking at the target
    signal_mask, ///< the lane keeps a mask of its own
    end_launch,  ///< cannot be answered at all
};

struct call_verdict {
    call_action action;
    std::int64_t value;
};

// Numbers and constants that older headers lack.
inline constexpr std::uint64_t call_x32_bit = 0x40000000;
inline constexpr std::uint64_t io_uring_enter_ext_arg = 1u << 3;

/// arch_prctl: readers are forwarded, for they see the borrowed thread's values.
constexpr bool arch_prctl_reads(std::uint64_t option) {
    constexpr std::uint64_t get_fs = 0x1003, get_gs = 0x1004, get_cpuid = 0x1011;
    constexpr std::uint64_t get_xcomp_supported = 0x1021, get_xcomp_permitted = 0x1022;
    return option == get_fs || option == get_gs || option == get_cpuid ||
           option == get_xcomp_supported || option == get_xcomp_permitted;
}

/// prctl: names, and what only reads.
constexpr bool prctl_allowed(std::uint64_t option) {
    switch (option) {
    case 2:          // PR_GET_PDEATHSIG
    case 3:          // PR_GET_DUMPABLE
    case 7:          // PR_GET_KEEPCAPS
    case 15:         // PR_SET_NAME
    case 16:         // PR_GET_NAME
    case 21:         // PR_GET_SECCOMP
    case 23:         // PR_CAPBSET_READ
    case 27:         // PR_GET_SECUREBITS
    case 29:         // PR_SET_TIMERSLACK
    case 30:         // PR_GET_TIMERSLACK
    case 37:         // PR_GET_CHILD_SUBREAPER
    case 39:         // PR_GET_NO_NEW_PRIVS
    case 40:         // PR_GET_TID_ADDRESS
    case 42:         // PR_GET_THP_DISABLE
    case 0x53564d41: // PR_SET_VMA: names of mappings, used by allocators
        return true;
    default:
        return false;
    }
}

/// Things that do not exist on a device.
constexpr bool makes_no_sense(std::uint64_t number) {
    switch (number) {
    // Tasks of their own, and registrations of the calling one.
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
    case SYS_execve:
    case SYS_execveat:
    case SYS_set_tid_address:
    case SYS_set_robust_list:
    case SYS_rseq:
    case SYS_restart_syscall:
    case SYS_modify_ldt:
    case SYS_userfaultfd:
    // All signals are blocked in the borrowed thread: these would never return.
    case SYS_pause:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
    // Its target is not known by its arguments.
    case SYS_pidfd_send_signal:
        return true;
    default:
        return false;
    }
}

/// Calls that would change the borrowed thread where the lane is meant.
constexpr bool changes_the_thread(std::uint64_t number, std::uint64_t first) {
    switch (number) {
    case SYS_seccomp:
    case SYS_unshare:
    case SYS_setns:
    case SYS_ptrace:
    case SYS_iopl:
    case SYS_ioperm:
        return true;
    case SYS_sigaltstack:
        return first != 0;
    case SYS_arch_prctl:
        return !arch_prctl_reads(first);
    case SYS_prctl:
        return !prctl_allowed(first);
    default:
        return false;
    }
}

/// The argument that is a signal mask to be taken out, -1 if there is none.
constexpr int mask_argument(std::uint64_t number) {
    switch (number) {
    case SYS_ppoll:
        return 3;
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_io_uring_enter:
        return 4;
    case SYS_pselect6:
        return 5;
    default:
        return -1;
    }
}

/// May change @args: signal masks are taken out, for the borrowed thread must keep its own.
inline call_verdict decide_call(std::uint64_t number, std::uint64_t (&args)[6]) {
    if (makes_no_sense(number)) return {call_action::answer, -ENOSYS};
    if (changes_the_thread(number, args[0])) return {call_action::answer, -EPERM};
    switch (number) {
    case SYS_exit:
    case SYS_exit_group:
    case SYS_rt_sigreturn:
        return {call_action::end_launch, 0};
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo:
        return {call_action::signal, 0};
    case SYS_rt_sigprocmask:
        return {call_action::signal_mask, 0};
    case SYS_io_uring_enter:
        // With an extended argument the mask hides in memory.
        if ((args[3] & io_uring_enter_ext_arg) != 0) return {call_action::answer, -ENOSYS};
        break;
    default:
        break;
    }
    if (const int mask = mask_argument(number); mask >= 0) args[mask] = 0;
    return {call_action::forward, 0};
}

/// Signals 1..64 as bit 0..63. SIGKILL and SIGSTOP cannot be blocked.
inline constexpr std::uint64_t unblockable_signals = std::uint64_t{1} << 8 | std::uint64_t{1} << 18;

/// rt_sigprocmask() on a mask that nothing acts on; returns 0 or -EINVAL.
constexpr std::int64_t change_signal_mask(std::uint64_t& mask, std::uint64_t how,
                                          std::uint64_t set) {
    switch (how) {
    case 0: // SIG_BLOCK
        mask |= set;
        break;
    case 1: // SIG_UNBLOCK
        mask &= ~set;
        break;
    case 2: // SIG_SETMASK
        mask = set;
        break;
    default:
        return -EINVAL;
    }
    mask &= ~unblockable_signals;
    return 0;
}

} // namespace hmmrt
