// SPDX-License-Identifier: MIT
// The files that the runtime creates, what other processes can do with them, and agents: this
// program, or a minimal one that only waits.
#include "sys/fd.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace hmmrt;

namespace {

/// Runs @body in a child. Returns true if no check failed there.
template <class Body>
bool passes_in_child(Body body) {
    const pid_t child = fork();
    if (child == 0) {
        body();
        _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
}

void expect_no_standard_files() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        EXPECT_EQ(fcntl(fd, F_GETFD), -1) << fd;
}

// ---- files

constexpr std::size_t bytes = 4096;

/// Opens the file as another process does through our descriptors in /proc.
int open_through_proc(int file, int flags) {
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    const int opened = ::open(path.c_str(), flags | O_CLOEXEC);
    return opened < 0 ? -errno : opened;
}

std::int64_t map_for_writing(const unique_fd& file) {
    return sys::map(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get());
}

TEST(ReadableMemory, IsAllThatThisProcessCanReadWithoutASignal) {
    constexpr std::size_t pages = 200;
    const unique_fd file(sys::create_shared_memory("hmmrt-test", bytes));
    const auto memory = static_cast<std::uint64_t>(
        sys::map(0, pages * bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1));
    EXPECT_TRUE(sys::is_readable(memory, pages * bytes));
    EXPECT_TRUE(sys::is_readable(memory + 100, 0));
    ASSERT_GE(
        sys::map(memory + 150 * bytes, 2 * bytes, PROT_READ, MAP_SHARED | MAP_FIXED, file.get()),
        0);
    EXPECT_TRUE(sys::is_readable(memory, 151 * bytes));
    EXPECT_FALSE(sys::is_readable(memory, 151 * bytes + 1)) << "beyond the end of the file";
    ASSERT_EQ(sys::protect(memory + 160 * bytes, bytes, PROT_NONE), 0);
    EXPECT_TRUE(sys::is_readable(memory + 159 * bytes, bytes));
    EXPECT_FALSE(sys::is_readable(memory + 160 * bytes - 1, 2));
    EXPECT_FALSE(sys::is_readable(0, 1));
    EXPECT_FALSE(sys::is_readable(memory, ~std::size_t{0}));
    EXPECT_EQ(sys::unmap(memory, pages * bytes), 0);
}

class SharedMemory : public testing::Test {
  protected:
    /// A process of the same user owns the file and can change its mode.
    unique_fd opened_by_another(int flags) const {
        EXPECT_EQ(fchmod(file.get(), 0600), 0);
        return unique_fd(open_through_proc(file.get(), flags));
    }

    unique_fd file{sys::create_shared_memory("shared", bytes)};
};

TEST_F(SharedMemory, ItsModePermitsNothing) {
    struct stat status = {};
    ASSERT_EQ(fstat(file.get(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0u);
    if (geteuid() == 0) return; // root can open it nevertheless
    for (const int flags : {O_RDONLY, O_RDWR})
        EXPECT_EQ(open_through_proc(file.get(), flags), -EACCES);
}

/// RLIMIT_FSIZE counts for files in memory, too.
TEST_F(SharedMemory, BeyondTheLimitOfFilesIsAnErrorAndNoSignal) {
    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit less = {bytes, before.rlim_max};
    const std::string program(2 * bytes, 'x');
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
    const int fitting = sys::create_shared_memory("fitting", bytes);
    const int large = sys::create_shared_memory("large", bytes + 1);
    const int image = sys::create_program_file("program", program.data(), program.size());
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_GE(fitting, 0);
    EXPECT_EQ(large, -EFBIG);
    EXPECT_EQ(image, -EFBIG);
    sigset_t pending, mask;
    sigpending(&pending);
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    EXPECT_EQ(sigismember(&pending, SIGXFSZ), 0);
    EXPECT_EQ(sigismember(&mask, SIGXFSZ), 0);
    sys::close_file(fitting);
}

/// The signal is the program's if it was pending already.
TEST_F(SharedMemory, BeyondTheLimitOfFilesKeepsASignalOfTheProgram) {
    rlimit before;
    sigset_t one, old, pending;
    sigemptyset(&one);
    sigaddset(&one, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &one, &old);
    raise(SIGXFSZ);
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit none = {0, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
    EXPECT_EQ(sys::create_shared_memory("large", bytes), -EFBIG);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGXFSZ), 1);
    constexpr timespec now = {};
    EXPECT_EQ(sigtimedwait(&one, nullptr, &now), SIGXFSZ);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

TEST_F(SharedMemory, HasNameAndSizeThroughEveryDescriptor) {
    const unique_fd second(sys::duplicate_file(file.get()));
    EXPECT_EQ(fcntl(second.get(), F_GETFD), FD_CLOEXEC);
    for (const int each : {file.get(), second.get()}) {
        std::string name;
        std::size_t size = 0;
        EXPECT_EQ(sys::describe_shared_memory(each, name, size), 0);
        EXPECT_EQ(name, "shared");
        EXPECT_EQ(size, bytes);
    }
    std::string name;
    std::size_t size = 0;
    const unique_fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    EXPECT_EQ(sys::describe_shared_memory(null.get(), name, size), -EINVAL);
    EXPECT_EQ(sys::describe_shared_memory(-1, name, size), -EINVAL);
    EXPECT_EQ(sys::duplicate_file(-1), -EBADF);
}

TEST_F(SharedMemory, AMappingFromBeforeTheSealStaysWritable) {
    const std::int64_t mapped = map_for_writing(file);
    ASSERT_GT(mapped, 0);
    const mapping memory(static_cast<std::uint64_t>(mapped), bytes);
    EXPECT_EQ(sys::seal_shared_memory(file.get()), 0);
    *reinterpret_cast<volatile int*>(memory.address()) = 42;
    EXPECT_EQ(*reinterpret_cast<volatile int*>(memory.address()), 42);
}

TEST_F(SharedMemory, AFileOpenedAfterTheSealCannotWrite) {
    const unique_fd early = opened_by_another(O_RDONLY);
    ASSERT_EQ(sys::seal_shared_memory(file.get()), 0);
    for (const int from : {file.get(), early.get()}) {
        const unique_fd other(open_through_proc(from, O_RDWR));
        ASSERT_GE(other.get(), 0);
        EXPECT_EQ(map_for_writing(other), -EPERM);
        EXPECT_EQ(pwrite(other.get(), "x", 1, 0), -1);
        EXPECT_EQ(errno, EPERM);
    }
}

TEST_F(SharedMemory, AFileOpenedForWritingBeforeTheSealIsSeen) {
    {
        const unique_fd other = opened_by_another(O_RDWR);
        ASSERT_GE(other.get(), 0);
        EXPECT_EQ(sys::seal_shared_memory(file.get()), -EBUSY);
    }
    const unique_fd fresh(sys::create_shared_memory("fresh", bytes));
    EXPECT_EQ(sys::seal_shared_memory(fresh.get()), 0);
}

TEST_F(SharedMemory, AMappingOfAnotherFileIsSeen) {
    std::int64_t mapped;
    {
        const unique_fd other = opened_by_another(O_RDWR);
        mapped = map_for_writing(other);
    }
    ASSERT_GT(mapped, 0);
    const mapping memory(static_cast<std::uint64_t>(mapped), bytes);
    EXPECT_EQ(sys::seal_shared_memory(file.get()), -EBUSY);
}

TEST_F(SharedMemory, AForeignSealIsSeen) {
    ASSERT_EQ(fcntl(file.get(), F_ADD_SEALS, F_SEAL_SEAL), 0);
    EXPECT_EQ(sys::seal_shared_memory(file.get()), -EPERM);
}

TEST(WithoutStandardFiles, NoneTakesTheirNumbers) {
    EXPECT_TRUE(passes_in_child([] {
        close_range(STDIN_FILENO, STDERR_FILENO, 0);
        const unique_fd opened(sys::open_file("/dev/null"));
        const unique_fd shared(sys::create_shared_memory("shared", bytes));
        const unique_fd program(sys::create_program_file("program", "", 1));
        int reader = -1, writer = -1;
        EXPECT_EQ(sys::create_kill_pipe(reader, writer), 0);
        for (const int fd : {opened.get(), shared.get(), program.get(), reader, writer})
            EXPECT_GT(fd, STDERR_FILENO);
        expect_no_standard_files();
    }));
}

// ---- agents

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
    EXPECT_TRUE(passes_in_child([&] { expect_out_of_reach(process); }));
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
        expect_no_standard_files();
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
