// SPDX-License-Identifier: MIT
// System calls of device code: docs/device-syscalls.md, line by line.
#include "device_fixture.hpp"

#include <asm/prctl.h>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <linux/capability.h>
#include <numeric>
#include <poll.h>
#include <sched.h>
#include <string>
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

namespace {

class Syscall : public OnDevice {
  protected:
    /// Returns the errno of a call that must fail on the device.
    template <class Call>
    static int errno_of(Call call) {
        int error = 0;
        on_device([&] { error = call() < 0 ? errno : 0; });
        return error;
    }

    template <class Function>
    static void expect_end(hmmError_t code, const char* call, Function body) {
        const auto error = error_on_device(body);
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code(), code) << error->what();
        EXPECT_NE(std::string(error->what()).find(call), std::string::npos) << error->what();
        hmm::reset();
        expect_usable();
    }
};

// ---- forwarded

TEST_F(Syscall, MemoryOfAnySize) {
    on_device([] {
        for (const std::size_t bytes : {16u, 4096u, 200000u, 64u << 20}) {
            char* memory = static_cast<char*>(std::malloc(bytes));
            std::memset(memory, 7, bytes);
            if (memory[bytes - 1] != 7) std::abort();
            memory = static_cast<char*>(std::realloc(memory, 2 * bytes));
            if (memory[bytes - 1] != 7) std::abort();
            std::free(memory);
        }
    });
}

TEST_F(Syscall, FilesAreWrittenAndRead) {
    const std::string path = "/tmp/hmmrt-syscall-test-" + std::to_string(getpid());
    std::string line;
    on_device([&] {
        std::ofstream(path) << "written on the device\n";
        std::ifstream file(path);
        std::getline(file, line);
    });
    EXPECT_EQ(line, "written on the device");
    EXPECT_EQ(unlink(path.c_str()), 0);
}

TEST_F(Syscall, SocketsTalk) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    std::thread echo([&] {
        char buffer[64];
        const ssize_t got = read(ends[1], buffer, sizeof(buffer));
        EXPECT_EQ(write(ends[1], buffer, static_cast<std::size_t>(got)), got);
    });
    char answer[6] = "";
    on_device([&] {
        if (send(ends[0], "hello", 5, 0) != 5) std::abort();
        if (recv(ends[0], answer, 5, MSG_WAITALL) != 5) std::abort();
    });
    echo.join();
    EXPECT_STREQ(answer, "hello");
    close(ends[0]);
    close(ends[1]);
}

TEST_F(Syscall, TimePassesAsOnTheCpu) {
    timespec before, on_lane, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    on_device([&] {
        usleep(20000);
        clock_gettime(CLOCK_MONOTONIC, &on_lane);
    });
    clock_gettime(CLOCK_MONOTONIC, &after);
    const auto ns = [](const timespec& t) { return t.tv_sec * 1000000000L + t.tv_nsec; };
    EXPECT_GE(ns(on_lane) - ns(before), 20000000);
    EXPECT_LE(ns(on_lane), ns(after));
}

TEST_F(Syscall, IdentityIsTheProgramsAndTheThreads) {
    pid_t process = 0, thread = 0;
    on_device([&] {
        process = getpid();
        thread = gettid();
    });
    EXPECT_EQ(process, getpid());
    EXPECT_NE(thread, getpid());
    EXPECT_EQ(access(("/proc/self/task/" + std::to_string(thread)).c_str(), F_OK), 0);
}

TEST_F(Syscall, ErrorsArriveInErrno) {
    EXPECT_EQ(errno_of([] { return open("/nonexistent/file", O_RDONLY); }), ENOENT);
    EXPECT_EQ(errno_of([] { return close(-1); }), EBADF);
    EXPECT_EQ(errno_of([] { return static_cast<int>(syscall(9999)); }), ENOSYS);
}

TEST_F(Syscall, FromAllLanesAtOnce) {
    const std::string path = "/tmp/hmmrt-lanes-test-" + std::to_string(getpid());
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    std::atomic<int> wrong = 0;
    hmm::launch(2000, [&](std::size_t i) {
        const auto offset = static_cast<off_t>(i * sizeof(i));
        std::size_t back = 0;
        if (pwrite(file, &i, sizeof(i), offset) != sizeof(i)) wrong++;
        if (pread(file, &back, sizeof(back), offset) != sizeof(back) || back != i) wrong++;
        std::vector<char> memory(i * 100 + 1, 'x');
        if (memory.back() != 'x') wrong++;
    });
    hmm::synchronize();
    EXPECT_EQ(wrong, 0);
    close(file);
    unlink(path.c_str());
}

TEST_F(Syscall, PrintfFromDeviceCodeReachesTheFile) {
    char* text = nullptr;
    std::size_t length = 0;
    std::FILE* stream = open_memstream(&text, &length);
    on_device([&] { std::fprintf(stream, "%s %d %.2f\n", "text", 42, 1.5); });
    std::fclose(stream);
    EXPECT_STREQ(text, "text 42 1.50\n");
    std::free(text);
}

ucontext_t main_context, side_context;
int side_steps = 0;

void side_function() {
    side_steps++;
    swapcontext(&side_context, &main_context);
    side_steps++;
}

TEST_F(Syscall, ContextsSwitchOnTheDevice) {
    std::vector<char> stack(256 << 10);
    on_device([&] {
        getcontext(&side_context);
        side_context.uc_stack.ss_sp = stack.data();
        side_context.uc_stack.ss_size = stack.size();
        side_context.uc_link = &main_context;
        makecontext(&side_context, side_function, 0);
        swapcontext(&main_context, &side_context);
        swapcontext(&main_context, &side_context);
    });
    EXPECT_EQ(side_steps, 2);
}

// ---- answered without being executed

TEST_F(Syscall, TasksCannotBeMade) {
    NEEDS_AGENT();
    EXPECT_EQ(errno_of([] { return fork(); }), ENOSYS);
    EXPECT_EQ(errno_of([] { return execl("/bin/true", "true", nullptr); }), ENOSYS);
    int shell = 0;
    bool refused = false;
    on_device([&] {
        shell = std::system("true"); // POSIX: as if the shell could not be executed
        try {
            std::thread([] {}).join();
        } catch (const std::system_error&) {
            refused = true;
        }
    });
    EXPECT_EQ(WEXITSTATUS(shell), 127);
    EXPECT_TRUE(refused);
}

TEST_F(Syscall, TheBorrowedThreadIsNotChanged) {
    NEEDS_AGENT();
    EXPECT_EQ(errno_of([] { return prctl(PR_SET_PDEATHSIG, SIGKILL); }), EPERM);
    EXPECT_EQ(errno_of([] { return syscall(SYS_arch_prctl, ARCH_SET_GS, 0); }), EPERM);
    EXPECT_EQ(errno_of([] { return syscall(SYS_unshare, 0); }), EPERM);
    stack_t stack = {};
    stack.ss_size = 1 << 16;
    EXPECT_EQ(errno_of([&] { return sigaltstack(&stack, nullptr); }), EPERM);
    unsigned long fs = 0;
    on_device([&] { syscall(SYS_arch_prctl, ARCH_GET_FS, &fs); });
    EXPECT_NE(fs, 0u);
}

TEST_F(Syscall, CredentialsAndPolicyOfTheBorrowedThreadStay) {
    NEEDS_AGENT();
    const uid_t user = getuid();
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2] = {};
    cpu_set_t cpus;
    ASSERT_EQ(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
    EXPECT_EQ(errno_of([&] { return syscall(SYS_capset, &header, none); }), EPERM);
    EXPECT_EQ(errno_of([&] { return syscall(SYS_setresuid, user, user, user); }), EPERM);
    EXPECT_EQ(errno_of([&] { return setuid(user); }), EPERM);
    EXPECT_EQ(errno_of([] { return syscall(SYS_landlock_restrict_self, -1, 0); }), EPERM);
    EXPECT_EQ(errno_of([] { return syscall(SYS_set_mempolicy, 0, nullptr, 0); }), EPERM);
    EXPECT_EQ(errno_of([&] { return sched_setaffinity(0, sizeof(cpus), &cpus); }), EPERM);
    EXPECT_EQ(errno_of([&] { return sched_setaffinity(gettid(), sizeof(cpus), &cpus); }), EPERM);
    EXPECT_EQ(errno_of([] { return setpriority(PRIO_PROCESS, 0, 1); }), EPERM);
    EXPECT_EQ(errno_of([] { return personality(ADDR_NO_RANDOMIZE); }), EPERM);
    int user_of_files = 0;
    on_device([&] { user_of_files = setfsuid(user + 1); });
    EXPECT_EQ(user_of_files, static_cast<int>(user));
    on_device([&] { user_of_files = setfsuid(user + 1); });
    EXPECT_EQ(user_of_files, static_cast<int>(user));
}

/// All threads of the program keep the same ids.
TEST_F(Syscall, AChangeOfUserFromDeviceCodeReachesNoThread) {
    NEEDS_AGENT();
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    constexpr uid_t other = 65534;
    EXPECT_EQ(errno_of([] { return seteuid(other); }), EPERM);
    EXPECT_EQ(geteuid(), 0u);
    uid_t on_lane = other;
    on_device([&] { on_lane = geteuid(); });
    EXPECT_EQ(on_lane, 0u);
}

TEST_F(Syscall, LanesAreNotRegisteredForRestartableSequences) {
    NEEDS_AGENT();
    std::uint32_t cpu = 0;
    on_device([&] {
        const auto* area = reinterpret_cast<const volatile struct rseq*>(
            static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset);
        cpu = area->cpu_id;
    });
    EXPECT_EQ(static_cast<int>(cpu), RSEQ_CPU_ID_REGISTRATION_FAILED);
}

TEST_F(Syscall, MasksAreRememberedButActOnNothing) {
    NEEDS_AGENT();
    sigset_t old, now;
    on_device([&] {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &set, &old);
        pthread_sigmask(SIG_BLOCK, nullptr, &now);
    });
    EXPECT_FALSE(sigismember(&old, SIGUSR1));
    EXPECT_TRUE(sigismember(&now, SIGUSR1));
}

TEST_F(Syscall, WaitingCallsLoseTheirMasks) {
    NEEDS_AGENT();
    int ready[3] = {-1, -1, -1};
    sigset_t everything;
    sigfillset(&everything);
    const timespec soon = {0, 1000000};
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    on_device([&] {
        epoll_event event;
        ready[0] = ppoll(nullptr, 0, &soon, &everything);
        ready[1] = pselect(0, nullptr, nullptr, nullptr, &soon, &everything);
        ready[2] = epoll_pwait(epoll, &event, 1, 1, &everything);
    });
    for (const int result : ready)
        EXPECT_EQ(result, 0);
    close(epoll);
    EXPECT_EQ(errno_of([&] { return sigsuspend(&everything); }), ENOSYS);
}

TEST_F(Syscall, TheLanesOwnMemoryCannotBeRemapped) {
    NEEDS_AGENT();
    int local = 0;
    const std::uintptr_t mask = ~std::uintptr_t{4095};
    const auto here = [&](const void* address) {
        return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(address) & mask);
    };
    int stack = 0, storage = 0, slot = 0;
    on_device([&] {
        const char on_stack = 0;
        void* const fixed = reinterpret_cast<void*>(0x2a0000000000);
        stack = munmap(here(&on_stack), 4096) < 0 ? errno : 0;
        storage = mprotect(here(&errno), 4096, PROT_READ) < 0 ? errno : 0;
        slot = mmap(fixed, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
                       MAP_FAILED
                   ? errno
                   : 0;
        local = 1;
    });
    EXPECT_EQ(local, 1);
    EXPECT_EQ(stack, EINVAL);
    EXPECT_EQ(storage, EINVAL);
    EXPECT_EQ(slot, EINVAL);
}

// ---- ends the launch

TEST_F(Syscall, ExitEndsTheLaunchAndIsNamed) {
    NEEDS_AGENT();
    expect_end(hmmErrorSystemCall, "exit_group", [] { _exit(3); });
    expect_end(hmmErrorSystemCall, "rt_sigreturn", [] { syscall(SYS_rt_sigreturn); });
}

TEST_F(Syscall, SignalsThatWouldEndTheProgramEndTheLaunch) {
    NEEDS_AGENT();
    expect_end(hmmErrorAssert, "SIGTERM", [] { raise(SIGTERM); });
    expect_end(hmmErrorAssert, "SIGKILL", [] { kill(getpid(), SIGKILL); });
    expect_end(hmmErrorAssert, "SIGHUP", [] { kill(0, SIGHUP); });
    const pid_t main_thread = gettid();
    expect_end(hmmErrorAssert, "SIGINT",
               [=] { syscall(SYS_tgkill, getpid(), main_thread, SIGINT); });
}

std::atomic<int> handled = 0;

TEST_F(Syscall, HandledSignalsReachTheProgram) {
    std::signal(SIGUSR1, [](int) { handled++; });
    const pid_t main_thread = gettid();
    on_device([=] { syscall(SYS_tgkill, getpid(), main_thread, SIGUSR1); });
    std::signal(SIGUSR1, SIG_DFL);
    EXPECT_EQ(handled, 1);
}

TEST_F(Syscall, SignalsToOtherProcessesAreSent) {
    const pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    on_device([=] { kill(child, SIGTERM); });
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

TEST_F(Syscall, CallsOfAnotherArchitectureEndTheLaunch) {
    NEEDS_AGENT();
    expect_end(hmmErrorSystemCall, "x32", [] { syscall(0x40000000 + SYS_getpid); });
    const auto error = error_on_device([] {
        int result = 20; // getpid of i386
        asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    });
    ASSERT_TRUE(error);
    // Kernels without i386 support treat the instruction as an error.
    EXPECT_TRUE(error->code() == hmmErrorSystemCall || error->code() == hmmErrorIllegalAddress);
}

TEST_F(Syscall, TheAgentsOwnInstructionIsOfNoUse) {
    NEEDS_AGENT();
    // Find a syscall instruction in the agent's image and jump to it. The
    // seccomp filter must stop it.
    expect_end(hmmErrorSystemCall, "", [] {
        const auto* at = reinterpret_cast<const unsigned char*>(0x2a0000000000);
        while (at[0] != 0x0f || at[1] != 0x05)
            at++;
        long result = SYS_getppid;
        asm volatile("call *%1" : "+a"(result) : "r"(at) : "rcx", "r11", "memory");
    });
}

// ---- strict mode

class Strict : public OnDevice {
  protected:
    Strict() { hmmSetStrict(1); }
    ~Strict() override { hmmSetStrict(0); }
};

TEST_F(Strict, EveryCallEndsTheLaunchAndIsNamed) {
    NEEDS_AGENT();
    const auto error = error_on_device([] { getppid(); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), hmmErrorSystemCall);
    EXPECT_EQ(error->record().system_call, SYS_getppid);
    EXPECT_NE(std::string(error->what()).find("getppid"), std::string::npos);
}

TEST_F(Strict, TheVdsoAnswersWithoutACall) {
    // The vdso can read the coarse clocks without hardware support.
    timespec before, on_lane = {}, after;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &before);
    on_device([&] { clock_gettime(CLOCK_MONOTONIC_COARSE, &on_lane); });
    clock_gettime(CLOCK_MONOTONIC_COARSE, &after);
    const auto ns = [](const timespec& t) { return t.tv_sec * 1000000000L + t.tv_nsec; };
    EXPECT_LE(ns(before), ns(on_lane));
    EXPECT_LE(ns(on_lane), ns(after));
}

TEST_F(Strict, YieldingHasNoEffect) {
    int result = -1;
    on_device([&] { result = sched_yield(); });
    EXPECT_EQ(result, 0);
}

TEST_F(Strict, CodeWithoutCallsAndPrefetchesWork) {
    std::vector<int> data(100000, 1);
    hmm::prefetch(std::span(data), hmm::device(0));
    hmm::launch(data.size(), [raw = data.data()](std::size_t i) { raw[i]++; });
    hmm::synchronize();
    EXPECT_EQ(std::accumulate(data.begin(), data.end(), 0), 200000);
}

// ---- blocking calls

TEST_F(Syscall, ABlockedLaneDoesNotHoldUpTheOthers) {
    if (!has_lanes(2)) GTEST_SKIP();
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    std::atomic<bool> got = false;
    hmm::launch(2, [&](std::size_t i) {
        char byte = 'x';
        if (i == 0)
            got = read(ends[0], &byte, 1) == 1;
        else
            static_cast<void>(!write(ends[1], &byte, 1));
    });
    hmm::synchronize();
    EXPECT_TRUE(got);
    close(ends[0]);
    close(ends[1]);
}

} // namespace
