// SPDX-License-Identifier: MIT
// The files that the runtime creates, and what other processes can do with
// them.
#include "sys/fd.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace hmmrt;

namespace {

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

/// Tests in a program that has closed its standard files. It reports through
/// its exit status.
class WithoutStandardFiles : public testing::Test {
  protected:
    static int run(bool (*body)()) {
        const pid_t child = fork();
        if (child == 0) {
            close_range(STDIN_FILENO, STDERR_FILENO, 0);
            bool good = body();
            for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                good = good && fcntl(fd, F_GETFD) == -1;
            _exit(good ? 0 : 1);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        return status;
    }
};

TEST_F(WithoutStandardFiles, NoneTakesTheirNumbers) {
    EXPECT_EQ(run([] {
                  const unique_fd opened(sys::open_file("/dev/null"));
                  const unique_fd shared(sys::create_shared_memory("shared", bytes));
                  const unique_fd program(sys::create_program_file("program", "", 1));
                  int reader = -1, writer = -1;
                  const int error = sys::create_kill_pipe(reader, writer);
                  return opened.get() > 2 && shared.get() > 2 && program.get() > 2 && error == 0 &&
                         reader > 2 && writer > 2;
              }),
              0);
}

} // namespace
