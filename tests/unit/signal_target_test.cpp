// SPDX-License-Identifier: MIT
#include "signal_target.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <sys/syscall.h>

using namespace hmmrt;

namespace {

constexpr std::int32_t own = 100, group = 90, other_thread = 101, parked = 102, stranger = 999;

class fake_view final : public signal_view {
  public:
    std::int32_t process() const override { return own; }
    std::int32_t process_group() const override { return group; }
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

TEST(SignalTarget, AbortEndsTheLaunch) {
    EXPECT_TRUE(ends(SYS_tgkill, own, parked, SIGABRT));
    EXPECT_TRUE(ends(SYS_tkill, parked, SIGABRT));
}

TEST(SignalTarget, FatalSignalsToTheOwnProcessEndTheLaunch) {
    for (const std::int32_t aim : {own, 0, -1, -group})
        EXPECT_TRUE(ends(SYS_kill, aim, SIGTERM));
    EXPECT_TRUE(ends(SYS_tgkill, own, other_thread, SIGSEGV));
    EXPECT_TRUE(ends(SYS_rt_sigqueueinfo, own, SIGTERM));
    EXPECT_TRUE(ends(SYS_rt_tgsigqueueinfo, own, other_thread, SIGTERM));
}

TEST(SignalTarget, KillAndStopCannotBeHandled) {
    EXPECT_TRUE(ends(SYS_kill, own, SIGKILL));
    EXPECT_TRUE(ends(SYS_kill, own, SIGSTOP));
}

TEST(SignalTarget, HandledSignalsToOtherThreadsAreSent) {
    EXPECT_FALSE(ends(SYS_kill, own, SIGUSR1));
    EXPECT_FALSE(ends(SYS_tgkill, own, other_thread, SIGUSR1));
}

TEST(SignalTarget, ASignalForTheBorrowedThreadCouldNeverArrive) {
    EXPECT_TRUE(ends(SYS_tgkill, own, parked, SIGUSR1));
}

TEST(SignalTarget, HarmlessAndLibrarySignalsAreSent) {
    for (const int signal : {0, SIGCHLD, SIGWINCH, SIGCONT, 32, 33})
        EXPECT_FALSE(ends(SYS_tgkill, own, parked, signal)) << signal;
    EXPECT_FALSE(ends(SYS_tgkill, own, parked, 63));
}

TEST(SignalTarget, OthersAreNotOurBusiness) {
    EXPECT_FALSE(ends(SYS_kill, stranger, SIGKILL));
    EXPECT_FALSE(ends(SYS_kill, -stranger, SIGKILL));
    EXPECT_FALSE(ends(SYS_tkill, stranger, SIGABRT));
    EXPECT_FALSE(ends(SYS_tgkill, stranger, stranger, SIGABRT));
}

TEST(SignalTarget, AnInvalidSignalIsTheKernelsToRefuse) {
    EXPECT_FALSE(ends(SYS_kill, own, 65));
    EXPECT_FALSE(ends(SYS_kill, own, -1));
}

} // namespace
