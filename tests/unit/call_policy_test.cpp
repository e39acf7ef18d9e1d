// SPDX-License-Identifier: MIT
#include "agent/call_policy.h"

#include <gtest/gtest.h>

using namespace hmmrt;

namespace {

call_verdict decide(std::uint64_t number, std::uint64_t first = 0) {
    std::uint64_t args[6] = {first, 1, 2, 3, 4, 5};
    return decide_call(number, args);
}

TEST(CallPolicy, OrdinaryCallsAreForwardedUnchanged) {
    for (const std::uint64_t number : {SYS_read, SYS_write, SYS_mmap, SYS_futex, SYS_openat,
                                       SYS_gettid, SYS_clock_gettime, SYS_nanosleep}) {
        std::uint64_t args[6] = {1, 2, 3, 4, 5, 6};
        EXPECT_EQ(decide_call(number, args).action, call_action::forward) << number;
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
        EXPECT_EQ(decide_call(number, args).action, call_action::forward) << number;
        for (int i = 0; i < 6; i++)
            EXPECT_EQ(args[i], i == mask ? 0u : static_cast<unsigned>(10 + i)) << number;
    }
}

TEST(CallPolicy, IoUringMaskIsTakenOutOrRefused) {
    std::uint64_t plain[6] = {3, 1, 1, 0, 0x1000, 8};
    EXPECT_EQ(decide_call(SYS_io_uring_enter, plain).action, call_action::forward);
    EXPECT_EQ(plain[4], 0u);
    std::uint64_t extended[6] = {3, 1, 1, io_uring_enter_ext_arg, 0x1000, 24};
    EXPECT_EQ(decide_call(SYS_io_uring_enter, extended).value, -ENOSYS);
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
