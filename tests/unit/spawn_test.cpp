// SPDX-License-Identifier: MIT
// Starting and ending an agent, which is this program here.
#include "sys/fd.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace hmmrt;

namespace {

constexpr std::string_view agent_name = "hmmrt-agent";
constexpr unsigned forgotten_seconds = 30;

struct agent {
    unique_fd kill_reader, kill_writer, pidfd;

    agent() {
        int reader = -1, writer = -1;
        EXPECT_EQ(sys::create_kill_pipe(reader, writer), 0);
        kill_reader = unique_fd(reader);
        kill_writer = unique_fd(writer);
        const unique_fd image(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
        const unique_fd control(sys::create_shared_memory("control", 4096));
        const unique_fd gpu(sys::create_shared_memory("gpu", 4096));
        pidfd = unique_fd(sys::start_agent({image.get(), control.get(), gpu.get(), reader}));
        EXPECT_GE(pidfd.get(), 0);
    }
    bool has_ended() const { return sys::agent_ended(pidfd.get(), -1); }
    bool ends() const {
        for (int i = 0; i < 5000 && !has_ended(); i++)
            sys::sleep_milliseconds(1);
        return has_ended();
    }
};

/// Runs @body in a child; true if nothing failed there.
bool passes_in_child(void (*body)()) {
    const pid_t child = fork();
    if (child == 0) {
        body();
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
}

TEST(Spawn, AnAgentIsKilledAndNoOther) {
    const agent first, second;
    EXPECT_FALSE(first.has_ended());
    EXPECT_GE(sys::kill_agent(first.pidfd.get(), first.kill_writer.get()), 0);
    EXPECT_TRUE(first.ends());
    EXPECT_FALSE(second.has_ended());
    EXPECT_GE(sys::kill_agent(second.pidfd.get(), second.kill_writer.get()), 0);
    EXPECT_TRUE(second.ends());
}

TEST(Spawn, AnAgentThatHasEndedMayBeKilledAgain) {
    const agent one;
    EXPECT_EQ(sys::kill_agent(one.pidfd.get(), one.kill_writer.get()), 0);
    EXPECT_TRUE(one.ends());
    const int again = sys::kill_agent(one.pidfd.get(), one.kill_writer.get());
    EXPECT_TRUE(again == 0 || again == -ESRCH) << again; // it may not be buried yet
}

TEST(Spawn, WhoHasGivenUpRootEndsItsAgentAllTheSame) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    EXPECT_TRUE(passes_in_child([] {
        constexpr uid_t nobody = 65534;
        const agent one;
        ASSERT_EQ(setresuid(nobody, nobody, nobody), 0);
        EXPECT_EQ(syscall(SYS_pidfd_send_signal, one.pidfd.get(), 0, nullptr, 0), -1);
        EXPECT_EQ(errno, EPERM);
        EXPECT_FALSE(one.has_ended());
        EXPECT_GE(sys::kill_agent(one.pidfd.get(), one.kill_writer.get()), 0);
        EXPECT_TRUE(one.ends());
    }));
}

} // namespace

int main(int argc, char** argv) {
    if (argv[0] == agent_name) {
        alarm(forgotten_seconds); // if a test fails to end it
        for (;;)
            pause();
    }
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
