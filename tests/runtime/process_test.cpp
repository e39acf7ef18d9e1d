// SPDX-License-Identifier: MIT
// The agent and the program as processes: which sees the other, and which ends
// with the other.
#include "base/device_uuid.hpp"
#include "device_fixture.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <immintrin.h>
#include <iterator>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

/// Returns all processes called "hmmrt-agent".
std::set<pid_t> agents() {
    std::set<pid_t> found;
    DIR* const proc = opendir("/proc");
    while (const dirent* entry = readdir(proc)) {
        std::string name;
        std::getline(std::ifstream(std::string("/proc/") + entry->d_name + "/comm") >> std::ws,
                     name);
        if (name == "hmmrt-agent") found.insert(std::atoi(entry->d_name));
    }
    closedir(proc);
    return found;
}

/// Returns true if all current agents are in @known.
bool none_but(const std::set<pid_t>& known) {
    for (const pid_t agent : agents())
        if (known.count(agent) == 0) return false;
    return true;
}

bool comes_true(auto condition) {
    for (int i = 0; i < 1500; i++) {
        if (condition()) return true;
        usleep(20000);
    }
    return false;
}

std::string status_line(pid_t process, const std::string& key) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind(key + ":", 0) == 0) return line.substr(key.size() + 2);
    return "";
}

class Process : public OnDevice {
  protected:
    /// Starts this program's agent and returns its process id.
    static pid_t start_agent() {
        const std::set<pid_t> before = agents();
        expect_usable();
        for (const pid_t agent : agents())
            if (before.count(agent) == 0) return agent;
        ADD_FAILURE() << "no agent";
        return 0;
    }

    /// Runs @body in a child that has not used a device. Returns its wait
    /// status.
    template <class Function>
    static int in_child(Function body) {
        const pid_t child = fork();
        if (child == 0) {
            body();
            _exit(testing::Test::HasFailure() ? 1 : 0);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        return status;
    }
};

// ---- before the first use: children of fork() can still use devices

/// The names of the devices, with variables like "NAME=VALUE NAME=VALUE". Ends
/// with the error if there are none.
std::string visible_with(const std::string& variables) {
    std::istringstream words(variables);
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        setenv(word.substr(0, equals).c_str(), word.substr(equals + 1).c_str(), 1);
    }
    int count = -1;
    std::string names;
    const hmmError_t code = hmmGetDeviceCount(&count);
    for (int i = 0; i < count; i++)
        names += std::string(i > 0 ? "," : "") + hmm::device(i).properties().name;
    return code == hmmSuccess ? names : hmmGetErrorName(code);
}

/// Launches a kernel that ends when this thread waits for something.
bool blocks_with(const char* value) {
    setenv("CUDA_LAUNCH_BLOCKING", value, 1);
    const hmm::stream in;
    std::atomic<bool> go = false, done = false;
    std::thread other([&, caller = gettid()] {
        EXPECT_TRUE(falls_asleep(caller));
        go = true;
    });
    hmm::launch(in, 1, [&](std::size_t) {
        while (!go)
            _mm_pause();
        done = true;
    });
    const bool blocked = done;
    other.join();
    in.synchronize();
    return blocked;
}

/// In a program that has not looked for devices, so before all other tests.
TEST_F(Process, A_TheEnvironmentSaysWhatIsVisibleAndIfLaunchesBlock) {
    const auto expect = [](const std::string& variables, const std::string& wanted) {
        const auto body = [&] { EXPECT_EQ(visible_with(variables), wanted) << variables; };
        EXPECT_EQ(in_child(body), 0) << variables;
    };
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const auto tell = [&] {
        const std::string all = visible_with("") + ",";
        ASSERT_EQ(write(pipe_ends[1], all.data(), all.size()), ssize_t(all.size()));
    };
    ASSERT_EQ(in_child(tell), 0);
    char all[1024] = {};
    ASSERT_GT(read(pipe_ends[0], all, sizeof(all) - 1), 0);
    std::istringstream names(all);
    std::string first, second;
    std::getline(std::getline(names, first, ','), second, ',');
    expect("CUDA_VISIBLE_DEVICES=0", first);
    expect("CUDA_VISIBLE_DEVICES=-1", "hmmErrorNoDevice");
    expect("CUDA_VISIBLE_DEVICES=", "hmmErrorNoDevice");
    expect("CUDA_VISIBLE_DEVICES=0,0", "hmmErrorInvalidDevice");
    expect("CUDA_VISIBLE_DEVICES=" + hmmrt::uuid_text(first).substr(0, 8), first);
    EXPECT_EQ(in_child([] { EXPECT_TRUE(blocks_with("1")); }), 0);
    EXPECT_EQ(in_child([] { EXPECT_FALSE(blocks_with("0")); }), 0);
    if (second.empty()) GTEST_SKIP() << "one device";
    expect("CUDA_VISIBLE_DEVICES=1", second);
    expect("CUDA_VISIBLE_DEVICES=1,0", second + "," + first);
    expect("CUDA_VISIBLE_DEVICES=1,77,0", second);
    expect("HIP_VISIBLE_DEVICES=1 CUDA_VISIBLE_DEVICES=0", second);
    expect("ROCR_VISIBLE_DEVICES=1", second);
    expect("ROCR_VISIBLE_DEVICES=1 HIP_VISIBLE_DEVICES=0", second);
    expect("ROCR_VISIBLE_DEVICES=1 HIP_VISIBLE_DEVICES=1", "hmmErrorNoDevice");
    expect("ROCR_VISIBLE_DEVICES=1 CUDA_VISIBLE_DEVICES=0", first);
    const auto second_works = [] {
        setenv("CUDA_VISIBLE_DEVICES", "1", 1);
        expect_usable();
    };
    EXPECT_EQ(in_child(second_works), 0);
}

TEST_F(Process, A0_ChildrenOfAProgramThatUsedNoDeviceMayUseThem) {
    EXPECT_EQ(in_child([] { expect_usable(); }), 0);
}

TEST_F(Process, A1_AProgramUnderSeccompGetsStrictMode) {
    NEEDS_AGENT();
    const auto body = [] {
        sock_filter allow_all[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
        const sock_fprog program = {1, allow_all};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
        const auto error = error_on_device([] { getppid(); });
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code(), hmmErrorSystemCall);
    };
    EXPECT_EQ(in_child(body), 0);
}

TEST_F(Process, A2_TheThreadThatStartedTheDeviceMayEnd) {
    const auto body = [] {
        std::thread([] { expect_usable(); }).join();
        usleep(100000);
        expect_usable();
    };
    EXPECT_EQ(in_child(body), 0);
}

TEST_F(Process, A3_ExecEndsTheAgent) {
    NEEDS_AGENT();
    const std::set<pid_t> before = agents();
    const auto body = [] {
        expect_usable();
        execl("/bin/true", "true", nullptr);
    };
    EXPECT_EQ(in_child(body), 0);
    EXPECT_TRUE(comes_true([&] { return none_but(before); }));
}

TEST_F(Process, A4_KillingTheProgramInTheMiddleOfALaunchEndsTheAgent) {
    NEEDS_AGENT();
    const std::set<pid_t> before = agents();
    const auto body = [] {
        std::vector<int> data(1 << 20);
        hmm::launch(2, [&](std::size_t) {
            for (std::size_t i = 0;; i = (i + 1) % data.size())
                data[i]++;
        });
        usleep(100000);
        kill(getpid(), SIGKILL);
    };
    const int status = in_child(body);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT_TRUE(comes_true([&] { return none_but(before); }));
}

TEST_F(Process, A5_ASubreaperDoesNotAdoptTheAgent) {
    const auto body = [] {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        expect_usable();
        int subreaper = 0;
        prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
        EXPECT_EQ(subreaper, 1);
        hmm::reset();
        EXPECT_EQ(waitpid(-1, nullptr, __WALL | WNOHANG), -1);
        EXPECT_EQ(errno, ECHILD);
    };
    EXPECT_EQ(in_child(body), 0);
}

TEST_F(Process, A6_WithAddressSpaceLimitedTheErrorSaysSo) {
    NEEDS_AGENT();
    const auto body = [] {
        const rlimit limit = {4ul << 30, 4ul << 30};
        ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
        const auto error = error_on_device([] {});
        ASSERT_TRUE(error);
        EXPECT_NE(std::string(error->what()).find("ulimit -v"), std::string::npos) << error->what();
    };
    EXPECT_EQ(in_child(body), 0);
}

/// The error of the first launch names @cause.
void expect_start_error(const char* cause) {
    const auto error = error_on_device([] {});
    ASSERT_TRUE(error);
    EXPECT_NE(std::string(error->what()).find(cause), std::string::npos) << error->what();
}

TEST_F(Process, AC_WithTheSizeOfFilesLimitedTheErrorSaysSo) {
    NEEDS_AGENT();
    const auto body = [] {
        const rlimit none = {0, 0};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
        expect_start_error("ulimit -f");
    };
    EXPECT_EQ(in_child(body), 0);
}

TEST_F(Process, AD_WithFewDescriptorsTheErrorSaysSo) {
    NEEDS_AGENT();
    for (rlim_t files = 3; files <= 16; files++) {
        const auto body = [=] {
            const rlimit few = {files, files};
            ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
            const auto error = error_on_device([] {});
            const std::string text = error ? error->what() : "Too many open files";
            EXPECT_NE(text.find("Too many open files"), std::string::npos) << files << text;
        };
        EXPECT_EQ(in_child(body), 0);
    }
}

/// From here on a system call fails with EPERM if its third argument has all of
/// these protections.
void forbid_protection(std::uint32_t call, std::uint32_t protection) {
    constexpr std::uint32_t argument = offsetof(seccomp_data, args[2]);
    sock_filter forbid[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
                            {BPF_JMP | BPF_JEQ | BPF_K, 0, 4, call},
                            {BPF_LD | BPF_W | BPF_ABS, 0, 0, argument},
                            {BPF_ALU | BPF_AND | BPF_K, 0, 0, protection},
                            {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, protection},
                            {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM},
                            {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    const sock_fprog program = {std::size(forbid), forbid};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST_F(Process, AE_WithExecutableMemoryForbiddenTheErrorSaysSo) {
    NEEDS_AGENT();
    const auto forbidding = [](std::uint32_t call, std::uint32_t protection) {
        return [=] {
            forbid_protection(call, protection);
            expect_start_error("MemoryDenyWriteExecute");
        };
    };
    EXPECT_EQ(in_child(forbidding(SYS_mprotect, PROT_EXEC)), 0) << "the copy of the agent";
    EXPECT_EQ(in_child(forbidding(SYS_mmap, PROT_WRITE | PROT_EXEC)), 0) << "the device";
}

/// What systemd's MemoryDenyWriteExecute= uses where the kernel has it.
TEST_F(Process, AF_WithExecutableMemoryForbiddenByTheKernelTheErrorSaysSo) {
    NEEDS_AGENT();
    constexpr int set_mdwe = 65, get_mdwe = 66; // not in headers before Linux 6.3
    constexpr unsigned long refuse_exec_gain = 1;
    if (prctl(get_mdwe, 0, 0, 0, 0) < 0) GTEST_SKIP() << "no PR_SET_MDWE: Linux before 6.3";
    const auto body = [] {
        ASSERT_EQ(prctl(set_mdwe, refuse_exec_gain, 0, 0, 0), 0);
        expect_start_error("MemoryDenyWriteExecute");
    };
    EXPECT_EQ(in_child(body), 0);
}

TEST_F(Process, A7_TwoProgramsUseOneDeviceAtOnce) {
    const auto body = [] {
        std::vector<int> data(1 << 18, 1);
        for (int round = 0; round < 20; round++) {
            hmm::launch(data.size(), [raw = data.data()](std::size_t i) { raw[i]++; });
            hmm::synchronize();
        }
        EXPECT_EQ(data, std::vector<int>(data.size(), 21));
    };
    const pid_t first = fork();
    if (first == 0) {
        body();
        _exit(HasFailure() ? 1 : 0);
    }
    EXPECT_EQ(in_child(body), 0);
    int status = -1;
    ASSERT_EQ(waitpid(first, &status, 0), first);
    EXPECT_EQ(status, 0);
}

TEST_F(Process, A8_TheAgentStaysWhenTheTerminalInterrupts) {
    const auto body = [] {
        setpgid(0, 0);
        expect_usable();
        std::signal(SIGINT, SIG_IGN);
        kill(0, SIGINT);
        usleep(50000);
        expect_usable();
    };
    EXPECT_EQ(in_child(body), 0);
}

TEST_F(Process, A9_AResetEndsTheAgentAtOnceAlsoAfterGivingUpRoot) {
    NEEDS_AGENT();
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    const std::set<pid_t> before = agents();
    const auto body = [&] {
        constexpr uid_t nobody = 65534;
        const pid_t agent = start_agent();
        const int lanes = hmm::current_device().properties().multiProcessorCount;
        std::atomic<int> begun = 0;
        hmm::launch(lanes, [&](std::size_t) {
            for (begun++;;)
                _mm_pause();
        });
        ASSERT_TRUE(comes_true([&] { return begun > 0; }));
        ASSERT_EQ(setresuid(nobody, nobody, 0), 0);
        ASSERT_EQ(kill(agent, 0), -1);
        ASSERT_EQ(errno, EPERM);
        const auto start = std::chrono::steady_clock::now();
        EXPECT_EQ(hmmDeviceReset(), hmmSuccess);
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(9));
        EXPECT_TRUE(comes_true([&] { return none_but(before); }));
        ASSERT_EQ(setresuid(0, 0, 0), 0);
        expect_usable();
    };
    EXPECT_EQ(in_child(body), 0);
}

TEST_F(Process, AB_AProgramWithoutStandardFilesKeepsTheirNumbersFree) {
    const auto body = [] {
        close_range(STDIN_FILENO, STDERR_FILENO, 0);
        int failures = 0;
        for (int round = 0; round < 2; round++) {
            int answer = 0;
            try {
                on_device([&] { answer = 42; });
            } catch (const hmm::error&) {
                failures++;
            }
            failures += answer != 42;
            for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                failures += fcntl(fd, F_GETFD) != -1;
            std::string text(1 << 16, 'x'); // would overwrite a file with this number
            failures += std::printf("%s\n", text.c_str()) >= 0 && std::fflush(stdout) == 0;
            try {
                on_device([&] { answer = 43; });
            } catch (const hmm::error&) {
                failures++;
            }
            failures += answer != 43;
            hmm::reset();
        }
        _exit(failures == 0 ? 0 : 1);
    };
    EXPECT_EQ(in_child(body), 0);
}

constexpr uid_t ordinary_user = 65534;

/// Becomes an ordinary user that can still open the device.
void become_user_with_a_capability() {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct one[2] = {};
    one[0].permitted = one[0].effective = 1u << CAP_DAC_OVERRIDE;
    prctl(PR_SET_KEEPCAPS, 1);
    ASSERT_EQ(setresuid(ordinary_user, ordinary_user, ordinary_user), 0);
    ASSERT_EQ(syscall(SYS_capset, &header, one), 0);
}

/// Tries, as an ordinary user without capabilities, to access each new process
/// until @over. Returns a process that it could trace, or with memory or first
/// files that it could open, otherwise 0.
pid_t reach_for_new_processes(const std::atomic<bool>& over) {
    if (setresuid(ordinary_user, ordinary_user, ordinary_user) != 0) return -1;
    while (!over) {
        double load;
        std::string running;
        pid_t last = 0;
        std::ifstream("/proc/loadavg") >> load >> load >> load >> running >> last;
        for (pid_t process = last - 3; process <= last + 1; process++) {
            if (process == getpid()) continue;
            if (ptrace(PTRACE_SEIZE, process, nullptr, nullptr) == 0) return process;
            for (const char* file : {"mem", "fd/3", "fd/4"}) {
                const std::string path = "/proc/" + std::to_string(process) + "/" + file;
                if (open(path.c_str(), O_RDWR | O_CLOEXEC) >= 0) return process;
            }
        }
    }
    return 0;
}

TEST_F(Process, AA_NoProcessOfTheSameUserReachesAnAgentThatStarts) {
    NEEDS_AGENT();
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    struct shared_words {
        std::atomic<bool> over;
        std::atomic<pid_t> reached;
    };
    void* const memory = mmap(nullptr, sizeof(shared_words), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto& words = *new (memory) shared_words;
    const pid_t other = fork();
    if (other == 0) {
        words.reached = reach_for_new_processes(words.over);
        _exit(0); // the processes that it traces continue
    }
    EXPECT_EQ(in_child([] {
                  become_user_with_a_capability();
                  for (int i = 0; i < 12; i++) {
                      expect_usable();
                      hmm::reset();
                  }
              }),
              0);
    words.over = true;
    EXPECT_EQ(waitpid(other, nullptr, 0), other);
    EXPECT_EQ(words.reached, 0);
    munmap(memory, sizeof(shared_words));
}

// ---- the program itself

std::atomic<int> children_signalled = 0;

TEST_F(Process, TheAgentIsNotAChildOfTheProgram) {
    NEEDS_AGENT();
    struct sigaction old, action = {};
    action.sa_handler = [](int) { children_signalled++; };
    sigaction(SIGCHLD, &action, &old);
    const pid_t agent = start_agent();
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    EXPECT_NE(getsid(agent), getsid(0));
    hmm::reset();
    EXPECT_EQ(waitpid(-1, nullptr, __WALL | WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    sigaction(SIGCHLD, &old, nullptr);
    EXPECT_EQ(children_signalled, 0);
}

/// Returns the targets of all descriptors of a process.
std::map<std::string, std::string> files_of(const std::string& process) {
    std::map<std::string, std::string> files;
    const std::string folder = "/proc/" + process + "/fd";
    DIR* const opened = opendir(folder.c_str());
    if (opened == nullptr) return files;
    while (const dirent* entry = readdir(opened)) {
        char target[256] = "";
        if (readlink((folder + "/" + entry->d_name).c_str(), target, sizeof(target) - 1) > 0)
            files[entry->d_name] = target;
    }
    closedir(opened);
    return files;
}

TEST_F(Process, TheAgentHasNoPrivilegesAndNoFileButTheDevice) {
    NEEDS_AGENT();
    const pid_t agent = start_agent();
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
        EXPECT_EQ(status_line(agent, set), "0000000000000000") << set;
    EXPECT_EQ(status_line(agent, "NoNewPrivs"), "1");
    EXPECT_EQ(status_line(agent, "Seccomp"), "2");
    const std::map<std::string, std::string> only = {{"4", "/dev/hmmrt-gpu0"}};
    EXPECT_EQ(files_of(std::to_string(agent)), only);
}

TEST_F(Process, NoDescriptorOfTheControlBlockIsLeft) {
    expect_usable();
    for (const auto& [number, target] : files_of("self"))
        EXPECT_EQ(target.find("hmmrt-control"), std::string::npos) << number;
}

TEST_F(Process, AKilledAgentIsAnErrorAndNotAHang) {
    NEEDS_AGENT();
    const pid_t agent = start_agent();
    hmm::launch(1, [](std::size_t) {
        for (;;)
            _mm_pause();
    });
    usleep(50000);
    ASSERT_EQ(kill(agent, SIGKILL), 0);
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorDeviceLost);
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorDeviceLost);
    hmm::reset();
    expect_usable();
}

TEST_F(Process, AnIdleAgentThatIsKilledIsNoticed) {
    NEEDS_AGENT();
    const pid_t agent = start_agent();
    ASSERT_EQ(kill(agent, SIGKILL), 0);
    usleep(50000);
    const auto error = error_on_device([] {});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), hmmErrorDeviceLost);
}

TEST_F(Process, AChildOfForkGetsErrorsAndTheParentGoesOn) {
    expect_usable();
    const auto body = [] {
        int count = 0;
        EXPECT_EQ(hmmGetDeviceCount(&count), hmmErrorForkedProcess);
        EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorForkedProcess);
        EXPECT_EQ(hmmLaunchRange([](void*, std::uint64_t, std::uint64_t) {}, nullptr, 1, nullptr,
                                 nullptr),
                  hmmErrorForkedProcess);
    };
    EXPECT_EQ(in_child(body), 0);
    expect_usable();
}

TEST_F(Process, AChildOfForkDoesNotKeepTheDevice) {
    expect_usable();
    const pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    hmm::reset();
    expect_usable();
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST_F(Process, ForkWhileLanesRunLeavesTheChildSound) {
    std::atomic<bool> stop = false;
    hmm::launch(2, [&](std::size_t) {
        while (!stop)
            free(malloc(100));
    });
    for (int i = 0; i < 20; i++)
        EXPECT_EQ(in_child([] { free(malloc(1000)); }), 0);
    stop = true;
    hmm::synchronize();
}

TEST_F(Process, ChangingUserIdsReachesTheParkedThreads) {
    expect_usable();
    const uid_t user = geteuid();
    std::thread changer([&] { EXPECT_EQ(seteuid(user), 0); });
    changer.join();
    expect_usable();
}

TEST_F(Process, ResetEndsTheParkedThreads) {
    const auto threads = [] {
        int count = 0;
        DIR* const tasks = opendir("/proc/self/task");
        while (const dirent* entry = readdir(tasks))
            count += entry->d_name[0] != '.';
        closedir(tasks);
        return count;
    };
    // A joined thread is still counted for a moment.
    const auto alone = [&] { return threads() == own_threads; };
    ASSERT_TRUE(comes_true(alone)) << "the test before left threads";
    for (int i = 0; i < 20; i++) {
        expect_usable();
        EXPECT_GT(threads(), own_threads);
        hmm::reset();
        ASSERT_TRUE(comes_true(alone));
    }
}

} // namespace
