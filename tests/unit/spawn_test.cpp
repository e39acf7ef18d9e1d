// SPDX-License-Identifier: MIT
// Starting and ending an agent. The agent is this program or a minimal one that
// only waits.
#include "sys/fd.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <linux/capability.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace hmmrt;

namespace {

constexpr std::string_view agent_name = "hmmrt-agent";
constexpr unsigned forgotten_seconds = 30;

constexpr uid_t nobody = 65534;

/// A program that loops over pause(), in three instructions.
struct waiting_program {
    Elf64_Ehdr header = {};
    Elf64_Phdr segment = {};
    unsigned char code[9] = {0xb8, SYS_pause, 0, 0, 0, 0x0f, 0x05, 0xeb, 0xf7};

    waiting_program() {
        constexpr std::uint64_t base = 0x400000;
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_ident[EI_VERSION] = EV_CURRENT;
        header.e_type = ET_EXEC;
        header.e_machine = EM_X86_64;
        header.e_version = EV_CURRENT;
        header.e_entry = base + offsetof(waiting_program, code);
        header.e_phoff = offsetof(waiting_program, segment);
        header.e_ehsize = sizeof(header);
        header.e_phentsize = sizeof(segment);
        header.e_phnum = 1;
        segment.p_type = PT_LOAD;
        segment.p_flags = PF_R | PF_X;
        segment.p_vaddr = segment.p_paddr = base;
        segment.p_filesz = segment.p_memsz = sizeof(*this);
        segment.p_align = page_size;
    }
};

unique_fd this_program() {
    return unique_fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
}

struct agent {
    unique_fd kill_reader, kill_writer, pidfd;

    explicit agent(const unique_fd& image = this_program()) {
        int reader = -1, writer = -1;
        EXPECT_EQ(sys::create_kill_pipe(reader, writer), 0);
        kill_reader = unique_fd(reader);
        kill_writer = unique_fd(writer);
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

void expect_killed(const agent& one) {
    EXPECT_GE(sys::kill_agent(one.pidfd.get(), one.kill_writer.get()), 0);
    EXPECT_TRUE(one.ends());
}

/// Becomes an ordinary user with one extra capability, or with none.
void become_user(bool with_capability) {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct one[2] = {};
    one[0].permitted = 1u << CAP_DAC_OVERRIDE;
    one[0].effective = one[0].permitted;
    prctl(PR_SET_KEEPCAPS, with_capability ? 1 : 0);
    ASSERT_EQ(setresuid(nobody, nobody, nobody), 0);
    if (with_capability) {
        ASSERT_EQ(syscall(SYS_capset, &header, one), 0);
    }
}

void drop_capabilities() {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2] = {};
    EXPECT_EQ(syscall(SYS_capset, &header, none), 0);
}

std::string process_of(const unique_fd& pidfd) {
    std::ifstream info("/proc/self/fdinfo/" + std::to_string(pidfd.get()));
    for (std::string key, value; info >> key >> value;)
        if (key == "Pid:") return value;
    return "";
}

/// A process of the same user without capabilities has no access to it.
void expect_out_of_reach(const std::string& process) {
    drop_capabilities();
    EXPECT_EQ(ptrace(PTRACE_SEIZE, std::stoi(process), nullptr, nullptr), -1);
    EXPECT_EQ(errno, EPERM);
    for (const char* file : {"mem", "fd/3", "fd/4", "maps", "environ"}) {
        const int opened = open(("/proc/" + process + "/" + file).c_str(), O_RDONLY);
        EXPECT_EQ(opened, -1) << file;
        EXPECT_TRUE(errno == EACCES || errno == EPERM) << file << ": " << errno;
    }
}

/// Runs @body in a child. Returns true if no check failed there.
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
    expect_killed(first);
    EXPECT_FALSE(second.has_ended());
    expect_killed(second);
}

TEST(Spawn, AnAgentThatHasEndedMayBeKilledAgain) {
    const agent one;
    EXPECT_EQ(sys::kill_agent(one.pidfd.get(), one.kill_writer.get()), 0);
    EXPECT_TRUE(one.ends());
    const int again = sys::kill_agent(one.pidfd.get(), one.kill_writer.get());
    EXPECT_TRUE(again == 0 || again == -ESRCH) << again; // it may still be a zombie
}

TEST(Spawn, AProcessThatGaveUpRootCanEndItsAgent) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    EXPECT_TRUE(passes_in_child([] {
        const agent one;
        ASSERT_EQ(setresuid(nobody, nobody, nobody), 0);
        EXPECT_EQ(syscall(SYS_pidfd_send_signal, one.pidfd.get(), 0, nullptr, 0), -1);
        EXPECT_EQ(errno, EPERM);
        EXPECT_FALSE(one.has_ended());
        expect_killed(one);
    }));
}

/// This agent makes no call to protect itself: its protection comes from exec.
void start_agent_out_of_reach() {
    const waiting_program program;
    const unique_fd image(sys::create_program_file("waits", &program, sizeof(program)));
    const agent one(image);
    const std::string process = process_of(one.pidfd);
    ASSERT_NE(process, "");
    const pid_t other = fork();
    if (other == 0) {
        expect_out_of_reach(process);
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(one.has_ended());
    expect_killed(one);
}

TEST(Spawn, AnAgentIsOutOfReachFromItsFirstInstruction) {
    EXPECT_TRUE(passes_in_child(start_agent_out_of_reach));
}

TEST(Spawn, AnAgentOfAUserWithACapabilityIsOutOfReachOfThoseWithout) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    EXPECT_TRUE(passes_in_child([] {
        become_user(true);
        start_agent_out_of_reach();
    }));
}

TEST(Spawn, AnAgentOfAProgramThatGaveUpRootIsOutOfReach) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    EXPECT_TRUE(passes_in_child([] {
        become_user(false);
        start_agent_out_of_reach();
    }));
}

TEST(Spawn, AgentsThatASubreaperStartsAtOnceAreNotItsChildren) {
    EXPECT_TRUE(passes_in_child([] {
        constexpr int rounds = 100;
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        const auto start_and_end_agents = [] {
            const waiting_program program;
            for (int i = 0; i < rounds; i++) {
                const unique_fd image(sys::create_program_file("waits", &program, sizeof(program)));
                const agent one(image);
                expect_killed(one);
            }
        };
        std::thread other(start_and_end_agents);
        start_and_end_agents();
        other.join();
        EXPECT_EQ(waitpid(-1, nullptr, __WALL | WNOHANG), -1);
        EXPECT_EQ(errno, ECHILD);
        int subreaper = 0;
        prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
        EXPECT_EQ(subreaper, 1);
    }));
}

TEST(Spawn, AnAgentTakesNoNumberOfAStandardFile) {
    EXPECT_TRUE(passes_in_child([] {
        const unique_fd image = this_program();
        close_range(STDIN_FILENO, STDERR_FILENO, 0);
        const agent one(image);
        EXPECT_GT(one.pidfd.get(), STDERR_FILENO);
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
            EXPECT_EQ(fcntl(fd, F_GETFD), -1) << fd;
        expect_killed(one);
    }));
}

TEST(Spawn, AnOwnersCapabilitiesStayAsTheyWere) {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct before[2] = {}, after[2] = {};
    ASSERT_EQ(syscall(SYS_capget, &header, before), 0);
    const int dumpable = prctl(PR_GET_DUMPABLE);
    const agent one;
    ASSERT_EQ(syscall(SYS_capget, &header, after), 0);
    EXPECT_EQ(std::memcmp(before, after, sizeof(before)), 0);
    EXPECT_EQ(prctl(PR_GET_DUMPABLE), dumpable);
    expect_killed(one);
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
