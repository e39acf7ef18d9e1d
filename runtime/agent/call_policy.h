// SPDX-License-Identifier: MIT
/*
 * Policy for system calls of device code. docs/device-syscalls.md describes
 * this file; keep both in sync.
 *
 * A lane borrows the identity of a parked thread of the application, which
 * executes the lane's calls. A call is forwarded unless it
 *  - concerns the machine state of the calling thread: the lane has its own, in
 *    another process; or would end or replace the parked thread that the lane
 *    depends on, or
 *  - changes credentials or policy of the calling thread only: the parked
 *    thread would keep the change for all device code that it serves later, or
 *  - creates tasks, or waits for signals, which the parked thread blocks.
 */
#pragma once

#include <cerrno>
#include <cstdint>
#include <sys/syscall.h>

namespace hmmrt {

enum class call_action : std::uint8_t {
    forward,     ///< the parked thread executes the call
    answer,      ///< `value` is the result; no call is executed
    signal,      ///< the parked thread decides by the signal's target
    signal_mask, ///< the lane has its own signal mask
    end_launch,  ///< the call has no meaningful result; the launch ends
};

struct call_verdict {
    call_action action;
    std::int64_t value;
};

// Numbers and constants that older headers lack.
inline constexpr std::uint64_t call_landlock_restrict_self = 446;
inline constexpr std::uint64_t call_lsm_set_self_attr = 460;
inline constexpr std::uint64_t call_x32_bit = 0x40000000;
inline constexpr std::uint64_t io_uring_enter_ext_arg = 1u << 3;

/// arch_prctl: forward operations that only read. They return values of the
/// parked thread.
constexpr bool arch_prctl_reads(std::uint64_t option) {
    constexpr std::uint64_t get_fs = 0x1003, get_gs = 0x1004, get_cpuid = 0x1011;
    constexpr std::uint64_t get_xcomp_supported = 0x1021, get_xcomp_permitted = 0x1022;
    return option == get_fs || option == get_gs || option == get_cpuid ||
           option == get_xcomp_supported || option == get_xcomp_permitted;
}

/// prctl: operations that set names, set the timer slack, or only read.
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
    case 0x53564d41: // names of mappings, used by allocators
        return true;
    default:
        return false;
    }
}

/// Calls that are not available on a device.
constexpr bool makes_no_sense(std::uint64_t number) {
    switch (number) {
    // Creation of tasks, and registrations of the calling task.
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
    // These would never return, because the parked thread blocks all signals.
    case SYS_pause:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
    // The arguments don't identify the target process.
    case SYS_pidfd_send_signal:
        return true;
    default:
        return false;
    }
}

/// keyctl: operations that replace keyrings of the calling thread.
constexpr bool keyctl_changes_the_thread(std::uint64_t operation) {
    constexpr std::uint64_t join_session_keyring = 1, set_request_keyring = 14,
                            assume_authority = 16;
    return operation == join_session_keyring || operation == set_request_keyring ||
           operation == assume_authority;
}

/// In the kernel, credentials belong to a thread. libc's functions change them
/// in every thread, using an internal signal: see begins_change_of_all().
constexpr bool changes_credentials(std::uint64_t number, std::uint64_t first) {
    switch (number) {
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_setgroups:
    case SYS_capset:
    case call_landlock_restrict_self:
    case call_lsm_set_self_attr:
        return true;
    case SYS_keyctl:
        return keyctl_changes_the_thread(first);
    default:
        return false;
    }
}

/// Scheduling, NUMA and execution policy. @own_thread is the parked thread,
/// which the call may also name as 0.
constexpr bool changes_policy(std::uint64_t number, const std::uint64_t (&args)[6],
                              std::int32_t own_thread) {
    constexpr std::uint64_t of_process = 0; // PRIO_PROCESS: a thread
    // IOPRIO_WHO_PROCESS: a thread
    constexpr std::uint64_t io_of_process = 1;
    constexpr std::uint32_t asks_only = UINT32_MAX; // personality()
    const auto caller = [own_thread](std::uint64_t thread) {
        const auto id = static_cast<std::int32_t>(thread);
        return id == 0 || id == own_thread;
    };
    switch (number) {
    case SYS_set_mempolicy:
        return true;
    case SYS_personality:
        return static_cast<std::uint32_t>(args[0]) != asks_only;
    case SYS_sched_setparam:
    case SYS_sched_setscheduler:
    case SYS_sched_setaffinity:
    case SYS_sched_setattr:
        return caller(args[0]);
    case SYS_setpriority:
        return static_cast<std::uint32_t>(args[0]) == of_process && caller(args[1]);
    case SYS_ioprio_set:
        return static_cast<std::uint32_t>(args[0]) == io_of_process && caller(args[1]);
    default:
        return false;
    }
}

/// Calls that would change the parked thread instead of the lane.
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

/// Index of the argument that is a signal mask, or -1.
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

/// True for the first system call of libc's setuid() and related functions.
/// They signal every other thread before they make the call themselves. If this
/// thread can't change, no thread may change.
constexpr bool begins_change_of_all(std::uint64_t number, const std::uint64_t (&args)[6]) {
    constexpr std::uint64_t libc_change_signal = 33;
    return (number == SYS_tgkill && args[2] == libc_change_signal) ||
           (number == SYS_tkill && args[1] == libc_change_signal);
}

/// May modify @args: removes signal masks, because the parked thread must keep
/// its own. @own_thread is the id of the parked thread.
inline call_verdict decide_call(std::uint64_t number, std::uint64_t (&args)[6],
                                std::int32_t own_thread) {
    if (makes_no_sense(number)) return {call_action::answer, -ENOSYS};
    if (changes_the_thread(number, args[0]) || changes_credentials(number, args[0]) ||
        changes_policy(number, args, own_thread) || begins_change_of_all(number, args))
        return {call_action::answer, -EPERM};
    switch (number) {
    case SYS_setfsuid:
    case SYS_setfsgid:
        // These calls always return the previous id. An invalid id keeps them
        // from changing it.
        args[0] = ~std::uint64_t{0};
        break;
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
        // An extended argument has the mask in memory, where we can't remove
        // it.
        if ((args[3] & io_uring_enter_ext_arg) != 0) return {call_action::answer, -ENOSYS};
        break;
    default:
        break;
    }
    if (const int mask = mask_argument(number); mask >= 0) args[mask] = 0;
    return {call_action::forward, 0};
}

/// Signals 1..64 as bit 0..63. SIGKILL and SIGSTOP can't be blocked.
inline constexpr std::uint64_t unblockable_signals = std::uint64_t{1} << 8 | std::uint64_t{1} << 18;

/// rt_sigprocmask() on a virtual mask without effect. Returns 0 or -EINVAL.
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
