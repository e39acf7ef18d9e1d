// SPDX-License-Identifier: MIT
// What happens to system calls of device code: the policy, the targets of signals, guarded memory,
// and the agent's own filter.
#include "agent/call_policy.h"
#include "agent/seccomp.h"
#include "fault/report.hpp"
#include "thread/guarded_ranges.hpp"
#include "thread/signal_target.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <vector>

using namespace hmmrt;
using namespace hmmrt::agent;

namespace {

// ---- policy

constexpr std::int32_t own_thread = 4711;

constexpr call_verdict forwarded = {call_action::forward, 0}, to_decide = {call_action::signal, 0},
                       the_end = {call_action::end_launch, 0},
                       unavailable = {call_action::answer, -ENOSYS},
                       forbidden = {call_action::answer, -EPERM};

/// The verdict on each of the calls with each of the arguments. The missing arguments are their
/// indexes.
struct call_row {
    const char* name;
    std::vector<std::uint64_t> numbers;
    call_verdict expected;
    std::vector<std::vector<std::uint64_t>> arguments = {{}};
    int changed = -1; ///< the argument that the thread gets another value of
    std::uint64_t value = 0;
};

class CallPolicyOf : public testing::TestWithParam<call_row> {};

TEST_P(CallPolicyOf, DeviceCode) {
    const call_row& row = GetParam();
    for (const std::uint64_t number : row.numbers)
        for (const auto& given : row.arguments) {
            std::uint64_t before[6] = {0, 1, 2, 3, 4, 5}, args[6];
            std::copy(given.begin(), given.end(), before);
            std::copy(std::begin(before), std::end(before), args);
            const call_verdict found = decide_call(number, args, own_thread);
            EXPECT_EQ(found.action, row.expected.action) << number;
            EXPECT_EQ(found.value, row.expected.value) << number;
            if (row.changed >= 0) before[row.changed] = row.value;
            EXPECT_TRUE(std::equal(std::begin(before), std::end(before), args)) << number;
        }
}

const call_row call_rows[] = {
    {"OrdinaryCallsAreForwardedUnchanged",
     {SYS_read, SYS_write, SYS_mmap, SYS_futex, SYS_openat, SYS_gettid, SYS_clock_gettime,
      SYS_nanosleep, SYS_getuid, SYS_getresuid, SYS_getgroups, SYS_capget, SYS_sched_getaffinity,
      SYS_get_mempolicy},
     forwarded},
    {"NumbersThatTheKernelDoesNotKnowYetAreForwarded", {9999}, forwarded},
    {"TasksCannotBeMade",
     {SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_execve, SYS_execveat},
     unavailable},
    {"TheBorrowedThreadKeepsItsRegistrations",
     {SYS_rseq, SYS_set_robust_list, SYS_set_tid_address},
     unavailable},
    {"TheBorrowedThreadKeepsItsState",
     {SYS_seccomp, SYS_unshare, SYS_setns, SYS_ptrace},
     forbidden},
    {"ExitAndSigreturnEndTheLaunch", {SYS_exit, SYS_exit_group, SYS_rt_sigreturn}, the_end},
    {"SignalsAreDecidedByTheirTarget",
     {SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo},
     to_decide},
    {"SignalsWithoutAKnownTargetAreNotSent", {SYS_pidfd_send_signal}, unavailable},
    {"ReadingArchPrctlIsForwarded", {SYS_arch_prctl}, forwarded, {{0x1003}}}, // ARCH_GET_FS
    {"OtherArchPrctlIsNot", {SYS_arch_prctl}, forbidden, {{0x1002}}},         // ARCH_SET_FS
    {"PrctlMaySetAName", {SYS_prctl}, forwarded, {{15}}},
    {"PrctlMayNotSetADeathSignalOrSeccomp", {SYS_prctl}, forbidden, {{1}, {22}}},
    {"TheSignalStackMayBeAskedFor", {SYS_sigaltstack}, forwarded, {{0}}},
    {"TheSignalStackMayNotBeChanged", {SYS_sigaltstack}, forbidden, {{0x1000}}},
    {"MaskOfPpollIsTakenOut", {SYS_ppoll}, forwarded, {{}}, 3},
    {"MaskOfPselectIsTakenOut", {SYS_pselect6}, forwarded, {{}}, 5},
    {"MaskOfEpollIsTakenOut", {SYS_epoll_pwait, SYS_epoll_pwait2}, forwarded, {{}}, 4},
    {"IoUringMaskIsTakenOut", {SYS_io_uring_enter}, forwarded, {{3, 1, 1, 0, 0x1000, 8}}, 4},
    {"IoUringMaskInMemoryIsRefused",
     {SYS_io_uring_enter},
     unavailable,
     {{3, 1, 1, io_uring_enter_ext_arg, 0x1000, 24}}},
    {"CredentialsOfTheBorrowedThreadStay",
     {SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid,
      SYS_setgroups, SYS_capset, SYS_landlock_restrict_self, call_lsm_set_self_attr},
     forbidden},
    {"FileSystemIdsAreToldAndNotChanged",
     {SYS_setfsuid, SYS_setfsgid},
     forwarded,
     {{1000}},
     0,
     ~std::uint64_t{0}},
    {"LibcsChangeOfAllThreadsDoesNotBeginWithTgkill", {SYS_tgkill}, forbidden, {{1, 2, 33}}},
    {"LibcsChangeOfAllThreadsDoesNotBeginWithTkill", {SYS_tkill}, forbidden, {{1, 33}}},
    {"LibcsCancellationIsAnotherSignal", {SYS_tgkill}, to_decide, {{1, 2, 32}}},
    {"KeyringsOfTheBorrowedThreadStay", {SYS_keyctl}, forbidden, {{1}, {14}, {16}}},
    {"KeyringsMayBeUsed", {SYS_keyctl}, forwarded, {{0}, {2}, {11}}},
    {"SchedulingOfTheBorrowedThreadStays",
     {SYS_sched_setparam, SYS_sched_setscheduler, SYS_sched_setaffinity, SYS_sched_setattr},
     forbidden,
     {{0}, {own_thread}}},
    {"SchedulingOfOtherThreadsMayBeChanged",
     {SYS_sched_setparam, SYS_sched_setscheduler, SYS_sched_setaffinity, SYS_sched_setattr},
     forwarded,
     {{own_thread + 1}}},
    {"PriorityOfTheBorrowedThreadStays", {SYS_setpriority}, forbidden, {{0, 0}, {0, own_thread}}},
    {"OtherPrioritiesMayBeChanged", {SYS_setpriority}, forwarded, {{0, own_thread + 1}, {1, 0}}},
    {"IoPriorityOfTheBorrowedThreadStays", {SYS_ioprio_set}, forbidden, {{1, 0}, {1, own_thread}}},
    {"OtherIoPrioritiesMayBeChanged", {SYS_ioprio_set}, forwarded, {{1, own_thread + 1}, {2, 0}}},
    {"MemoryPolicyAndPersonalityOfTheBorrowedThreadStay",
     {SYS_set_mempolicy, SYS_personality},
     forbidden},
    {"PersonalityMayBeAskedFor", {SYS_personality}, forwarded, {{0xffffffff}}},
};

INSTANTIATE_TEST_SUITE_P(, CallPolicyOf, testing::ValuesIn(call_rows),
                         [](const auto& of) { return of.param.name; });

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

TEST(SignalMask, FollowsTheThreeOperationsAndNeverShowsKillAndStopAsBlocked) {
    std::uint64_t mask = 0;
    EXPECT_EQ(change_signal_mask(mask, 0, 0b110), 0);
    EXPECT_EQ(mask, 0b110u);
    EXPECT_EQ(change_signal_mask(mask, 1, 0b010), 0);
    EXPECT_EQ(mask, 0b100u);
    EXPECT_EQ(change_signal_mask(mask, 2, 0b001), 0);
    EXPECT_EQ(mask, 0b001u);
    EXPECT_EQ(change_signal_mask(mask, 3, 0), -EINVAL) << "there is no other operation";
    EXPECT_EQ(mask, 0b001u);
    change_signal_mask(mask, 2, ~std::uint64_t{0});
    EXPECT_EQ(mask, ~unblockable_signals);
}

// ---- signals

constexpr std::int32_t own = 100, own_group = 90, other_thread = 101, parked = 102, stranger = 999;

class fake_view final : public signal_view {
  public:
    std::int32_t process() const override { return own; }
    std::int32_t process_group() const override { return own_group; }
    bool is_own_thread(std::int32_t tid) const override { return tid >= own && tid <= parked; }
    bool is_parked_thread(std::int32_t tid) const override { return tid == parked; }
    bool is_default(int signal) const override { return signal != SIGUSR1; } // it has a handler
    int break_signal() const override { return 63; }
};

bool ends(std::int64_t number, std::int32_t a, std::int32_t b, std::int32_t c = 0) {
    const auto word = [](std::int32_t value) { return static_cast<std::uint64_t>(value); };
    const std::uint64_t args[6] = {word(a), word(b), word(c)};
    return signal_ends_launch(number, args, fake_view());
}

TEST(SignalTarget, AbortAndFatalSignalsToTheOwnProcessEndTheLaunch) {
    EXPECT_TRUE(ends(SYS_tgkill, own, parked, SIGABRT));
    EXPECT_TRUE(ends(SYS_tkill, parked, SIGABRT));
    for (const std::int32_t aim : {own, 0, -1, -own_group})
        EXPECT_TRUE(ends(SYS_kill, aim, SIGTERM));
    EXPECT_TRUE(ends(SYS_tgkill, own, other_thread, SIGSEGV));
    EXPECT_TRUE(ends(SYS_rt_sigqueueinfo, own, SIGTERM));
    EXPECT_TRUE(ends(SYS_rt_tgsigqueueinfo, own, other_thread, SIGTERM));
    EXPECT_TRUE(ends(SYS_kill, own, SIGKILL));
    EXPECT_TRUE(ends(SYS_kill, own, SIGSTOP));
    EXPECT_TRUE(ends(SYS_tgkill, own, parked, SIGUSR1)) << "it could never arrive";
}

TEST(SignalTarget, HandledHarmlessAndLibrarySignalsAreSent) {
    EXPECT_FALSE(ends(SYS_kill, own, SIGUSR1));
    EXPECT_FALSE(ends(SYS_tgkill, own, other_thread, SIGUSR1));
    for (const int signal : {0, SIGCHLD, SIGWINCH, SIGCONT, 32, 33})
        EXPECT_FALSE(ends(SYS_tgkill, own, parked, signal)) << signal;
    EXPECT_FALSE(ends(SYS_tgkill, own, parked, 63));
}

TEST(SignalTarget, OthersAndInvalidSignalsAreTheKernelsBusiness) {
    EXPECT_FALSE(ends(SYS_kill, stranger, SIGKILL));
    EXPECT_FALSE(ends(SYS_kill, -stranger, SIGKILL));
    EXPECT_FALSE(ends(SYS_tkill, stranger, SIGABRT));
    EXPECT_FALSE(ends(SYS_tgkill, stranger, stranger, SIGABRT));
    EXPECT_FALSE(ends(SYS_kill, own, 65));
    EXPECT_FALSE(ends(SYS_kill, own, -1));
}

// ---- guarded memory

constexpr std::uint64_t begin = 0x10000, end = 0x20000;
constexpr int break_signal = 63;

class GuardedRanges : public testing::Test {
  protected:
    GuardedRanges() { ranges->add(begin, end); }

    bool guarded(std::int64_t number, std::initializer_list<std::uint64_t> values) const {
        std::uint64_t args[6] = {};
        std::copy(values.begin(), values.end(), args);
        return call_is_guarded(number, args, *ranges, break_signal);
    }

    std::unique_ptr<guarded_ranges> ranges = std::make_unique<guarded_ranges>();
};

TEST_F(GuardedRanges, TouchMeansOverlapAlsoIfTheLengthWraps) {
    EXPECT_TRUE(ranges->touches(begin, 1));
    EXPECT_TRUE(ranges->touches(end - 1, 1));
    EXPECT_TRUE(ranges->touches(0, UINT64_MAX));
    EXPECT_TRUE(ranges->touches(begin - 1, 2));
    EXPECT_FALSE(ranges->touches(begin - 1, 1));
    EXPECT_FALSE(ranges->touches(end, 100));
    EXPECT_TRUE(ranges->touches(begin - 1, UINT64_MAX));
}

TEST_F(GuardedRanges, ARemovedRangeIsFreeAgain) {
    ranges->remove(begin);
    EXPECT_FALSE(ranges->touches(begin, end - begin));
    EXPECT_TRUE(ranges->add(begin, end));
    EXPECT_TRUE(ranges->touches(begin, 1));
}

TEST_F(GuardedRanges, CallsThatChangeGuardedMemoryOrTheBreakSignalAreRefused) {
    for (const std::int64_t number : {SYS_munmap, SYS_mprotect, SYS_madvise, SYS_pkey_mprotect}) {
        EXPECT_TRUE(guarded(number, {begin, 4096})) << number;
        EXPECT_FALSE(guarded(number, {end, 4096})) << number;
    }
    EXPECT_FALSE(guarded(SYS_mmap, {begin, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS}));
    EXPECT_TRUE(guarded(SYS_mmap, {begin, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED}));
    EXPECT_TRUE(guarded(SYS_mremap, {begin, 4096, 8192, MREMAP_MAYMOVE}));
    EXPECT_TRUE(guarded(SYS_mremap, {end, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, begin}));
    EXPECT_FALSE(guarded(SYS_mremap, {end, 4096, 4096, MREMAP_MAYMOVE, begin}));
    EXPECT_TRUE(guarded(SYS_rt_sigaction, {break_signal}));
    EXPECT_FALSE(guarded(SYS_rt_sigaction, {break_signal - 1}));
    EXPECT_FALSE(guarded(SYS_read, {begin, 4096}));
}

// ---- the filter of the agent, run in a small interpreter of classic BPF

constexpr int pid = 4711;

std::uint32_t run(const sock_filter* program, std::size_t length, const seccomp_data& data) {
    std::uint32_t accumulator = 0;
    for (std::size_t pc = 0; pc < length; pc++) {
        const sock_filter& at = program[pc];
        switch (at.code) {
        case BPF_LD | BPF_W | BPF_ABS:
            std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + at.k, 4);
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            pc += accumulator == at.k ? at.jt : at.jf;
            break;
        case BPF_RET | BPF_K:
            return at.k;
        default:
            ADD_FAILURE() << "instruction " << at.code << " at " << pc;
            return 0;
        }
    }
    ADD_FAILURE() << "ran off the end";
    return 0;
}

bool allowed(int number, std::initializer_list<std::uint64_t> args = {},
             std::uint32_t arch = AUDIT_ARCH_X86_64) {
    sock_filter filter[seccomp_filter_length];
    build_seccomp_filter(filter, pid);
    seccomp_data data = {};
    data.nr = number;
    data.arch = arch;
    std::copy(args.begin(), args.end(), data.args);
    const std::uint32_t verdict = run(filter, seccomp_filter_length, data);
    EXPECT_TRUE(verdict == SECCOMP_RET_ALLOW || verdict == SECCOMP_RET_TRAP);
    return verdict == SECCOMP_RET_ALLOW;
}

TEST(Seccomp, AllowsWhatLanesNeedAndDeniesEverythingElse) {
    for (int number = 0; number < 470; number++) {
        const bool needed = number == SYS_futex || number == SYS_rt_sigreturn ||
                            number == SYS_exit_group || number == SYS_clock_gettime;
        EXPECT_EQ(allowed(number), needed) << number;
    }
}

TEST(Seccomp, ChecksTheArgumentsOfIoctlAndTgkillAndTheArchitecture) {
    EXPECT_FALSE(allowed(SYS_ioctl, {agent_control_fd, HMMRT_GPU_IOC_FAULT_RECORD}));
    EXPECT_FALSE(allowed(SYS_ioctl, {agent_gpu_fd, HMMRT_GPU_IOC_ATTACH}));
    EXPECT_FALSE(allowed(SYS_tgkill, {pid + 1, 12, agent_stop_signal}));
    EXPECT_FALSE(allowed(SYS_tgkill, {pid, 12, 9}));
    EXPECT_FALSE(allowed(SYS_futex, {}, AUDIT_ARCH_I386));
    EXPECT_TRUE(allowed(SYS_ioctl, {agent_gpu_fd, HMMRT_GPU_IOC_FAULT_RECORD, 0x1000}));
    EXPECT_TRUE(allowed(SYS_tgkill, {pid, 12, agent_stop_signal}));
}

} // namespace
