// SPDX-License-Identifier: MIT
#include "sys/syscalls.hpp"

#include "agent/syscall.h"
#include "sys/descriptors.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hmmrt::sys {
namespace {

template <class Call>
auto retried(Call call) {
    decltype(call()) result;
    do
        result = call();
    while (result < 0 && errno == EINTR);
    return result < 0 ? static_cast<decltype(result)>(-errno) : result;
}

/// If a file (or memfd) would exceed RLIMIT_FSIZE (ulimit -f), the writer gets
/// an error and also SIGXFSZ, which ends the program. This object suppresses
/// the signal, unless it was already pending.
class without_file_size_signal {
  public:
    without_file_size_signal() {
        sigset_t pending;
        sigemptyset(&one_);
        sigaddset(&one_, SIGXFSZ);
        pthread_sigmask(SIG_BLOCK, &one_, &before_);
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    }
    without_file_size_signal(const without_file_size_signal&) = delete;
    without_file_size_signal& operator=(const without_file_size_signal&) = delete;
    ~without_file_size_signal() {
        constexpr timespec none = {};
        const int saved_errno = errno;
        while (!was_pending_ && ::sigtimedwait(&one_, nullptr, &none) < 0 && errno == EINTR)
            continue;
        errno = saved_errno;
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

  private:
    sigset_t one_, before_;
    bool was_pending_;
};

int write_all(int fd, const char* data, std::size_t bytes) {
    const without_file_size_signal no_signal;
    while (bytes > 0) {
        const ssize_t written = retried([&] { return ::write(fd, data, bytes); });
        if (written < 0) return static_cast<int>(written);
        data += written;
        bytes -= static_cast<std::size_t>(written);
    }
    return 0;
}

int create_memfd(const char* name, unsigned flags) {
    return keep_standard_free(
        retried([&] { return ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags); }));
}

/// Since Linux 6.3, executable memfds need MFD_EXEC.
int create_executable_memfd(const char* name) {
    constexpr unsigned executable = 0x10; // MFD_EXEC
    const int fd = create_memfd(name, executable);
    return fd == -EINVAL ? create_memfd(name, 0) : fd;
}

/// If @error is negative, closes @fd and returns @error. Otherwise seals @fd
/// and returns it.
int seal_or_close(int fd, int error, int seals) {
    if (error >= 0) error = retried([&] { return ::fcntl(fd, F_ADD_SEALS, seals); });
    if (error >= 0) return fd;
    ::close(fd);
    return error;
}

} // namespace

int open_file(const char* path) {
    return keep_standard_free(retried([&] { return ::open(path, O_RDWR | O_CLOEXEC); }));
}

int close_file(int fd) {
    return ::close(fd) < 0 ? -errno : 0;
}

int control_file(int fd, unsigned long request, void* argument) {
    return retried([&] { return ::ioctl(fd, request, argument); });
}

int control_file_once(int fd, unsigned long request, void* argument) {
    const int result = ::ioctl(fd, request, argument);
    return result < 0 ? -errno : result;
}

int read_whole_file(const char* path, std::string& content) {
    const int fd = keep_standard_free(retried([&] { return ::open(path, O_RDONLY | O_CLOEXEC); }));
    if (fd < 0) return fd;
    char buffer[4096];
    ssize_t got;
    content.clear();
    while ((got = retried([&] { return ::read(fd, buffer, sizeof(buffer)); })) > 0)
        content.append(buffer, static_cast<std::size_t>(got));
    ::close(fd);
    return static_cast<int>(got);
}

void write_error(const char* text, std::size_t bytes) {
    write_all(STDERR_FILENO, text, bytes);
}

int create_program_file(const char* name, const void* data, std::size_t bytes) {
    const int fd = create_executable_memfd(name);
    if (fd < 0) return fd;
    int error = write_all(fd, static_cast<const char*>(data), bytes);
    if (error >= 0) error = retried([&] { return ::fchmod(fd, 0111); });
    return seal_or_close(fd, error, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
}

int create_shared_memory(const char* name, std::size_t bytes) {
    const int fd = create_memfd(name, 0);
    if (fd < 0) return fd;
    // A memfd is created with mode 0777, so any process that may inspect our
    // descriptors could open it through /proc/PID/fd/N.
    int error = retried([&] { return ::fchmod(fd, 0); });
    const without_file_size_signal no_signal;
    if (error >= 0) error = retried([&] { return ::ftruncate(fd, static_cast<off_t>(bytes)); });
    return seal_or_close(fd, error, F_SEAL_SHRINK | F_SEAL_GROW);
}

/// The mode isn't sufficient, because a process of the same user may change it.
/// The kernel only grants a read lease if the file isn't open for writing
/// anywhere. The memfd itself doesn't count, because it was created, not
/// opened. An open() that breaks the lease in between sends a signal, here
/// SIGURG, which is ignored by default.
int seal_shared_memory(int fd) {
    const int seals = F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
    const int error = retried([&] { return ::fcntl(fd, F_ADD_SEALS, seals); });
    if (error < 0) return error;
    ::fcntl(fd, F_SETSIG, SIGURG);
    const int lease = retried([&] { return ::fcntl(fd, F_SETLEASE, F_RDLCK); });
    ::fcntl(fd, F_SETLEASE, F_UNLCK);
    return lease == -EAGAIN ? -EBUSY : 0;
}

/// The descriptor's link in /proc is "/memfd:NAME (deleted)".
int describe_shared_memory(int fd, std::string& name, std::size_t& bytes) {
    constexpr std::string_view prefix = "/memfd:", suffix = " (deleted)";
    char target[256];
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const auto length = retried([&] { return ::readlink(link.c_str(), target, sizeof(target)); });
    if (length < 0) return -EINVAL;
    std::string_view found(target, static_cast<std::size_t>(length));
    struct stat state;
    if (!found.starts_with(prefix) || !found.ends_with(suffix) || ::fstat(fd, &state) < 0)
        return -EINVAL;
    found.remove_prefix(prefix.size());
    found.remove_suffix(suffix.size());
    name = found;
    bytes = static_cast<std::size_t>(state.st_size);
    return 0;
}

int duplicate_file(int fd) {
    return duplicate_above_standard(fd);
}

// Use raw calls, because sanitizers reject addresses that they don't manage.
std::int64_t map(std::uint64_t address, std::size_t bytes, int protection, int flags, int fd,
                 std::uint64_t offset) {
    return raw_syscall(SYS_mmap, address, bytes, static_cast<std::uint64_t>(protection),
                       static_cast<std::uint64_t>(flags), static_cast<std::uint64_t>(fd), offset);
}

int unmap(std::uint64_t address, std::size_t bytes) {
    return static_cast<int>(raw_syscall(SYS_munmap, address, bytes));
}

int protect(std::uint64_t address, std::size_t bytes, int protection) {
    return static_cast<int>(
        raw_syscall(SYS_mprotect, address, bytes, static_cast<std::uint64_t>(protection)));
}

int advise(std::uint64_t address, std::size_t bytes, int advice) {
    return static_cast<int>(
        raw_syscall(SYS_madvise, address, bytes, static_cast<std::uint64_t>(advice)));
}

int lock_memory(std::uint64_t address, std::size_t bytes) {
    return static_cast<int>(raw_syscall(SYS_mlock, address, bytes));
}

int lock_on_fault(std::uint64_t address, std::size_t bytes) {
    const auto result = static_cast<int>(raw_syscall(SYS_mlock2, address, bytes, MLOCK_ONFAULT));
    // valgrind doesn't know the call. It can only run the cpu device, which migrates nothing.
    return result == -ENOSYS ? lock_memory(address, bytes) : result;
}

int unlock_memory(std::uint64_t address, std::size_t bytes) {
    return static_cast<int>(raw_syscall(SYS_munlock, address, bytes));
}

/// With these flags msync() only checks for locked mappings. valgrind mistakes
/// it for a read of the range and reports uninitialised or unallocated bytes.
/// It runs the cpu device, which works without an answer.
bool has_locked(std::uint64_t address, std::size_t bytes) {
    if (under_valgrind()) return false;
    return raw_syscall(SYS_msync, address, bytes, MS_ASYNC | MS_INVALIDATE) == -EBUSY;
}

std::uint64_t locked_memory_limit() {
    rlimit limit;
    return ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

/// mincore() fails if any part isn't mapped. msync() would do too, but valgrind
/// complains if the range contains free heap memory.
[[gnu::noinline]] bool is_mapped(std::uint64_t address, std::size_t bytes) {
    constexpr std::size_t pages = 16 << 10; // at a time
    unsigned char resident[pages];
    while (bytes > 0) {
        const std::size_t part = std::min(bytes, pages * page_size);
        if (raw_syscall(SYS_mincore, address, part, address_of(resident)) != 0) return false;
        address += part;
        bytes -= part;
    }
    return true;
}

/// Copies a byte of each page. The kernel may refuse that altogether, for
/// example because of seccomp.
bool is_readable(std::uint64_t address, std::size_t bytes) {
    constexpr std::size_t pages = 64; // at a time
    if (bytes > ~std::uint64_t{0} - address) return false;
    const std::uint64_t end = address + bytes;
    while (address < end) {
        iovec from[pages];
        char copied[pages];
        const iovec to = {copied, pages};
        std::size_t count = 0;
        const std::uint64_t first = address;
        for (; count < pages && address < end; address = (address | (page_size - 1)) + 1)
            from[count++] = {reinterpret_cast<void*>(address), 1};
        const std::int64_t got =
            raw_syscall(SYS_process_vm_readv, static_cast<std::uint64_t>(::getpid()),
                        address_of(&to), 1, address_of(from), count, 0);
        if (got == -EPERM || got == -ENOSYS)
            return is_mapped(first & ~(page_size - 1), end - (first & ~(page_size - 1)));
        if (got != static_cast<std::int64_t>(count)) return false;
    }
    return true;
}

bool wait_for_change(futex_word& word, std::uint32_t expected, int milliseconds) {
    const timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    return raw_syscall(SYS_futex, address_of(&word), FUTEX_WAIT, expected, address_of(&limit)) !=
           -ETIMEDOUT;
}

void wake(futex_word& word) {
    raw_syscall(SYS_futex, address_of(&word), FUTEX_WAKE, INT32_MAX);
}

void sleep_milliseconds(int milliseconds) {
    timespec rest = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    while (::nanosleep(&rest, &rest) < 0 && errno == EINTR)
        continue;
}

std::uint64_t monotonic_milliseconds() {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
           static_cast<std::uint64_t>(now.tv_nsec) / 1000000;
}

bool end_by_exception() {
    raw_syscall(call_end_by_exception);
    return false;
}

bool agent_ended(int pidfd, int gpu_fd) {
    pollfd files[2] = {{pidfd, POLLIN, 0}, {gpu_fd, 0, 0}};
    if (retried([&] { return ::poll(files, 2, 0); }) <= 0) return false;
    return (files[0].revents & POLLIN) != 0 || (files[1].revents & POLLHUP) != 0;
}

void reap_process(int pidfd) {
    constexpr auto by_pidfd = static_cast<idtype_t>(3); // P_PIDFD
    siginfo_t info;
    ::waitid(by_pidfd, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG | __WALL);
}

int signal_thread(int tid, int signal) {
    return static_cast<int>(raw_syscall(SYS_tgkill, static_cast<std::uint64_t>(::getpid()),
                                        static_cast<std::uint64_t>(tid),
                                        static_cast<std::uint64_t>(signal)));
}

void end_process(int status) {
    ::_exit(status);
}

const char* environment(const char* name) {
    return ::secure_getenv(name);
}

int usable_cpus() {
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
    // there are more CPUs than cpu_set_t can hold
    const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? static_cast<int>(online) : 1;
}

/// These instructions are no-ops, but valgrind recognises them as a request.
bool under_valgrind() {
    constexpr std::uint64_t running_on_valgrind = 0x1001;
    const volatile std::uint64_t question[6] = {running_on_valgrind};
    std::uint64_t answer = 0;
    asm volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; "
                 "xchgq %%rbx, %%rbx"
                 : "+d"(answer)
                 : "a"(question)
                 : "cc", "memory");
    return answer != 0;
}

std::uint64_t physical_memory() {
    return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page_size;
}

int current_node() {
    unsigned cpu = 0, node = 0;
    return ::getcpu(&cpu, &node) == 0 ? static_cast<int>(node) : 0;
}

int process_id() {
    return ::getpid();
}

int seccomp_mode() {
    return retried([] { return ::prctl(PR_GET_SECCOMP); });
}

std::uint64_t xfeature_permissions() {
    constexpr std::uint64_t get_permissions = 0x1022; // ARCH_GET_XCOMP_PERM
    std::uint64_t features = 0;
    if (raw_syscall(SYS_arch_prctl, get_permissions, address_of(&features)) < 0) return 0;
    return features;
}

} // namespace hmmrt::sys
