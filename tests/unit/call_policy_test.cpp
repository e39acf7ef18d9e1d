// SPDX-License-Identifier: MIT
#include "agent/call_policy.h"

#include "report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

using namespace hmmrt;

namespace {

constexpr std::int32_t own_thread = 4711;

call_verdict decide(std::uint64_t number, std::uint64_t first = 0, std::uint64_t second = 1,
                    std::uint64_t third = 2) {
    std::uint64_t args[6] = {first, second, third, 3, 4, 5};
    return decide_call(number, args, own_thread);
}

TEST(CallPolicy, OrdinaryCallsAreForwardedUnchanged) {
    for (const std::uint64_t number : {SYS_read, SYS_write, SYS_mmap, SYS_futex, SYS_openat,
                                       SYS_gettid, SYS_clock_gettime, SYS_nanosleep}) {
        std::uint64_t args[6] = {1, 2, 3, 4, 5, 6};
        EXPECT_EQ(decide_call(number, args, own_thread).action, call_action::forward) << number;
        for (std::uint64_t i = 0; i < 6; i++)
            EXPECT_EQ(args[i], i + 1) << number;
    }
}

TEST(CallPolicy, NumbersThatTheKernelDoesNotKnowYetAreForwarded) {
    EXPECT_EQ(decide(9999).action, call_action::forward);
}

TEST(CallPolicy, TasksCannotBeMade) {
    for (const std::uint64_t number :
         {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_execve, SYS_execveat}) {
        EXPECT_EQ(decide(number).action, call_action::answer) << number;
        EXPECT_EQ(decide(number).value, -ENOSYS) << number;
    }
}

TEST(CallPolicy, TheBorrowedThreadKeepsItsRegistrations) {
    for (const std::uint64_t number : {SYS_rseq, SYS_set_robust_list, SYS_set_tid_address})
        EXPECT_EQ(decide(number).value, -ENOSYS) << number;
    for (const std::uint64_t number : {SYS_seccomp, SYS_unshare, SYS_setns, SYS_ptrace})
        EXPECT_EQ(decide(number).value, -EPERM) << number;
}

TEST(CallPolicy, ExitAndSigreturnEndTheLaunch) {
    for (const std::uint64_t number : {SYS_exit, SYS_exit_group, SYS_rt_sigreturn})
        EXPECT_EQ(decide(number).action, call_action::end_launch) << number;
}

TEST(CallPolicy, SignalsAreDecidedByTheirTarget) {
    for (const std::uint64_t number :
         {SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo})
        EXPECT_EQ(decide(number).action, call_action::signal) << number;
    EXPECT_EQ(decide(SYS_pidfd_send_signal).value, -ENOSYS);
}

TEST(CallPolicy, OnlyReadingArchPrctlAndPrctlAreForwarded) {
    constexpr std::uint64_t arch_set_fs = 0x1002, arch_get_fs = 0x1003;
    constexpr std::uint64_t set_pdeathsig = 1, set_name = 15, set_seccomp = 22;
    EXPECT_EQ(decide(SYS_arch_prctl, arch_get_fs).action, call_action::forward);
    EXPECT_EQ(decide(SYS_arch_prctl, arch_set_fs).value, -EPERM);
    EXPECT_EQ(decide(SYS_prctl, set_name).action, call_action::forward);
    EXPECT_EQ(decide(SYS_prctl, set_pdeathsig).value, -EPERM);
    EXPECT_EQ(decide(SYS_prctl, set_seccomp).value, -EPERM);
}

TEST(CallPolicy, TheSignalStackMayBeAskedForButNotChanged) {
    EXPECT_EQ(decide(SYS_sigaltstack, 0).action, call_action::forward);
    EXPECT_EQ(decide(SYS_sigaltstack, 0x1000).value, -EPERM);
}

TEST(CallPolicy, MasksAreTakenOutOfWaitingCalls) {
    const struct {
        std::uint64_t number;
        int mask;
    } calls[] = {{SYS_ppoll, 3}, {SYS_pselect6, 5}, {SYS_epoll_pwait, 4}, {SYS_epoll_pwait2, 4}};
    for (const auto& [number, mask] : calls) {
        std::uint64_t args[6] = {10, 11, 12, 13, 14, 15};
        EXPECT_EQ(decide_call(number, args, own_thread).action, call_action::forward) << number;
        for (int i = 0; i < 6; i++)
            EXPECT_EQ(args[i], i == mask ? 0u : static_cast<unsigned>(10 + i)) << number;
    }
}

TEST(CallPolicy, IoUringMaskIsTakenOutOrRefused) {
    std::uint64_t plain[6] = {3, 1, 1, 0, 0x1000, 8};
    EXPECT_EQ(decide_call(SYS_io_uring_enter, plain, own_thread).action, call_action::forward);
    EXPECT_EQ(plain[4], 0u);
    std::uint64_t extended[6] = {3, 1, 1, io_uring_enter_ext_arg, 0x1000, 24};
    EXPECT_EQ(decide_call(SYS_io_uring_enter, extended, own_thread).value, -ENOSYS);
}

TEST(CallPolicy, CredentialsOfTheBorrowedThreadStay) {
    for (const std::uint64_t number :
         {SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid,
          SYS_setgroups, SYS_capset, SYS_landlock_restrict_self})
        EXPECT_EQ(decide(number).value, -EPERM) << number;
    EXPECT_EQ(decide(call_lsm_set_self_attr).value, -EPERM);
    for (const std::uint64_t number : {SYS_getuid, SYS_getresuid, SYS_getgroups, SYS_capget})
        EXPECT_EQ(decide(number).action, call_action::forward) << number;
}

TEST(CallPolicy, FileSystemIdsAreToldAndNotChanged) {
    for (const std::uint64_t number : {SYS_setfsuid, SYS_setfsgid}) {
        std::uint64_t args[6] = {1000};
        EXPECT_EQ(decide_call(number, args, own_thread).action, call_action::forward) << number;
        EXPECT_EQ(args[0], ~std::uint64_t{0}) << number;
    }
}

TEST(CallPolicy, LibcsChangeOfAllThreadsDoesNotBegin) {
    constexpr std::uint64_t change_of_all = 33, cancel = 32;
    EXPECT_EQ(decide(SYS_tgkill, 1, 2, change_of_all).value, -EPERM);
    EXPECT_EQ(decide(SYS_tkill, 1, change_of_all).value, -EPERM);
    EXPECT_EQ(decide(SYS_tgkill, 1, 2, cancel).action, call_action::signal);
}

TEST(CallPolicy, KeyringsOfTheBorrowedThreadStay) {
    for (const std::uint64_t operation : {1u, 14u, 16u})
        EXPECT_EQ(decide(SYS_keyctl, operation).value, -EPERM) << operation;
    for (const std::uint64_t operation : {0u, 2u, 11u})
        EXPECT_EQ(decide(SYS_keyctl, operation).action, call_action::forward) << operation;
}

TEST(CallPolicy, SchedulingIsChangedOfOtherThreadsOnly) {
    for (const std::uint64_t number :
         {SYS_sched_setparam, SYS_sched_setscheduler, SYS_sched_setaffinity, SYS_sched_setattr}) {
        EXPECT_EQ(decide(number, 0).value, -EPERM) << number;
        EXPECT_EQ(decide(number, own_thread).value, -EPERM) << number;
        EXPECT_EQ(decide(number, own_thread + 1).action, call_action::forward) << number;
    }
    const struct {
        std::uint64_t number, thread, group;
    } calls[] = {{SYS_setpriority, 0, 1}, {SYS_ioprio_set, 1, 2}};
    for (const auto& [number, thread, group] : calls) {
        EXPECT_EQ(decide(number, thread, 0).value, -EPERM) << number;
        EXPECT_EQ(decide(number, thread, own_thread).value, -EPERM) << number;
        EXPECT_EQ(decide(number, thread, own_thread + 1).action, call_action::forward) << number;
        EXPECT_EQ(decide(number, group, 0).action, call_action::forward) << number;
    }
    EXPECT_EQ(decide(SYS_sched_getaffinity, 0).action, call_action::forward);
}

TEST(CallPolicy, MemoryPolicyAndPersonalityOfTheBorrowedThreadStay) {
    EXPECT_EQ(decide(SYS_set_mempolicy).value, -EPERM);
    EXPECT_EQ(decide(SYS_get_mempolicy).action, call_action::forward);
    EXPECT_EQ(decide(SYS_personality, 0).value, -EPERM);
    EXPECT_EQ(decide(SYS_personality, 0xffffffff).action, call_action::forward);
}

/// Returns true if the call is not forwarded unchanged for some arguments.
bool is_special(std::uint64_t number) {
    for (const std::uint64_t first : {0u, 1u, 0xffffffffu}) {
        const std::uint64_t before[6] = {first, 0, 2, 3, 4, 5};
        std::uint64_t args[6];
        std::copy(std::begin(before), std::end(before), args);
        if (decide_call(number, args, own_thread).action != call_action::forward) return true;
        if (!std::equal(std::begin(before), std::end(before), args)) return true;
    }
    return false;
}

TEST(CallPolicy, EveryCallThatIsNotSimplyForwardedIsDocumented) {
    std::ifstream file(HMMRT_DEVICE_SYSCALLS);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    ASSERT_FALSE(text.empty());
    int special = 0;
    for (int number = 0; number < 600; number++) {
        if (!is_special(static_cast<std::uint64_t>(number))) continue;
        special++;
        const std::string name = number == static_cast<int>(call_lsm_set_self_attr)
                                     ? "lsm_set_self_attr"
                                     : system_call_name(number);
        EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << name;
    }
    EXPECT_GT(special, 50);
}

TEST(SignalMask, FollowsTheThreeOperations) {
    std::uint64_t mask = 0;
    EXPECT_EQ(change_signal_mask(mask, 0, 0b110), 0);
    EXPECT_EQ(mask, 0b110u);
    EXPECT_EQ(change_signal_mask(mask, 1, 0b010), 0);
    EXPECT_EQ(mask, 0b100u);
    EXPECT_EQ(change_signal_mask(mask, 2, 0b001), 0);
    EXPECT_EQ(mask, 0b001u);
}

TEST(SignalMask, RefusesAnUnknownOperationAndKeepsTheMask) {
    std::uint64_t mask = 5;
    EXPECT_EQ(change_signal_mask(mask, 3, 0), -EINVAL);
    EXPECT_EQ(mask, 5u);
}

TEST(SignalMask, NeverShowsKillAndStopAsBlocked) {
    std::uint64_t mask = 0;
    change_signal_mask(mask, 2, ~std::uint64_t{0});
    EXPECT_EQ(mask, ~unblockable_signals);
}

} // namespace
