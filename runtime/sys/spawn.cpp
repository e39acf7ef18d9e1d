// SPDX-License-Identifier: MIT
/*
 * Starts the agent without side effects on the program.
 *
 * An intermediate process shares the memory and descriptors of this process. It
 * starts a new session, starts the agent, and ends without a signal; only a
 * wait with __WALL can see it. execveat() turns the agent into an ordinary
 * child again, but of the intermediate process. So the program gets no SIGCHLD
 * and no unknown child in wait(), and the agent gets no Ctrl-C. The
 * intermediate process stores the agent's pidfd in the shared descriptor table.
 *
 * If this process may not signal the agent, it kills the agent through a pipe,
 * whose reader has SIGKILL as its signal and the agent as its owner. Permission
 * depends on the user ids that set the owner, which are the agent's. The
 * program may have different ids when it ends the agent.
 *
 * No process may inspect or trace the agent, from its first instruction on. Its
 * image can be executed but not read, so the kernel starts it undumpable,
 * unless an effective capability permits reading the image. So the agent drops
 * its effective capabilities before exec. They stay permitted until exec: until
 * then the agent still has its parent's memory, and a process with fewer
 * capabilities could otherwise access that memory through the agent.
 *
 * Between clone() and exec we must not use TLS, which belongs to the calling
 * thread, except for the errno that clone() has set.
 */
#include "sys/syscalls.hpp"

#include "agent/syscall.h"
#include "sys/descriptors.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <linux/capability.h>
#include <mutex>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/// Another name of clone() in glibc. TSan treats clone() as fork(), and would
/// switch its state, which these children share, to that of a forked child.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);

namespace hmmrt::sys {
namespace {

constexpr std::size_t stack_bytes = 64 << 10;
constexpr int image_fd = 5;
constexpr int first_temporary_fd = image_fd + 1;

struct start_request {
    agent_files files;
    char* inner_stack_top;
    int pidfd = -1;
    int error = 0;
};

std::uint64_t arg(int value) {
    return static_cast<std::uint64_t>(value);
}

/// Makes the calling process the owner of the pipe's signals.
std::int64_t own_kill_pipe(int reader) {
    return raw_syscall(SYS_fcntl, arg(reader), F_SETOWN,
                       static_cast<std::uint64_t>(raw_syscall(SYS_getpid)));
}

/// Drops the effective capabilities of the calling task. The permitted ones
/// remain.
std::int64_t drop_effective_capabilities() {
    __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct capabilities[_LINUX_CAPABILITY_U32S_3] = {};
    const std::int64_t result =
        raw_syscall(SYS_capget, address_of(&header), address_of(capabilities));
    if (result < 0) return result;
    for (__user_cap_data_struct& part : capabilities)
        part.effective = 0;
    return raw_syscall(SYS_capset, address_of(&header), address_of(capabilities));
}

/// Converts the errors that fcntl() and dup3() return for numbers beyond
/// RLIMIT_NOFILE.
std::int64_t as_too_many_files(std::int64_t result, int error) {
    return result == -error ? -EMFILE : result;
}

/// Moves the three files to the descriptor numbers that the agent expects, and
/// closes all others.
std::int64_t arrange_files(const agent_files& files) {
    const int sources[3] = {files.control, files.gpu, files.image};
    const int targets[3] = {agent_control_fd, agent_gpu_fd, image_fd};
    std::int64_t temporary[3];

    // A target number may also be the number of another source, so first copy
    // all sources to temporary numbers.
    for (int i = 0; i < 3; i++) {
        temporary[i] = as_too_many_files(
            raw_syscall(SYS_fcntl, arg(sources[i]), F_DUPFD_CLOEXEC, first_temporary_fd), EINVAL);
        if (temporary[i] < 0) return temporary[i];
    }
    for (int i = 0; i < 3; i++) {
        const std::uint64_t flags = targets[i] == image_fd ? O_CLOEXEC : 0;
        const std::int64_t result = as_too_many_files(
            raw_syscall(SYS_dup3, static_cast<std::uint64_t>(temporary[i]), arg(targets[i]), flags),
            EBADF);
        if (result < 0) return result;
    }
    raw_syscall(SYS_close_range, 0, agent_control_fd - 1);
    return raw_syscall(SYS_close_range, image_fd + 1, UINT32_MAX);
}

int run_agent(void* argument) {
    auto& request = *static_cast<start_request*>(argument);
    static char root[] = "/", name[] = "hmmrt-agent", empty[] = "";
    char* const arguments[] = {name, nullptr};
    char* const no_environment[] = {nullptr};

    std::int64_t result = own_kill_pipe(request.files.kill_reader);
    if (result >= 0) result = arrange_files(request.files);
    raw_syscall(SYS_chdir, address_of(root));
    if (result >= 0) result = drop_effective_capabilities();
    if (result >= 0)
        result = raw_syscall(SYS_execveat, image_fd, address_of(empty), address_of(arguments),
                             address_of(no_environment), AT_EMPTY_PATH);
    request.error = static_cast<int>(result);
    for (;;)
        raw_syscall(SYS_exit, 1);
}

int run_middle(void* argument) {
    auto& request = *static_cast<start_request*>(argument);
    raw_syscall(SYS_setsid);
    if (__clone(run_agent, request.inner_stack_top, CLONE_VM | CLONE_VFORK | CLONE_PIDFD, &request,
                &request.pidfd) < 0)
        request.error = -errno; // the owner of errno waits in start_agent(), which restores it
    for (;;)
        raw_syscall(SYS_exit, 0);
}

/// Held from reading the flag until restoring it. Otherwise another thread that
/// starts an agent could read the cleared flag, and its agent could be orphaned
/// after the flag is set again. A child of fork() never takes this lock,
/// because it can't use devices.
constinit std::mutex subreaper_lock;

/// Orphans become children of the nearest subreaper, so this object temporarily
/// clears the process's subreaper flag. Setting the flag again also covers
/// children forked in between.
class not_a_subreaper {
  public:
    not_a_subreaper() : lock_(subreaper_lock) {
        if (::prctl(PR_GET_CHILD_SUBREAPER, &was_) < 0) was_ = 0;
        if (was_ != 0) ::prctl(PR_SET_CHILD_SUBREAPER, 0);
    }
    ~not_a_subreaper() {
        if (was_ != 0) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    }

  private:
    const std::lock_guard<std::mutex> lock_;
    int was_ = 0;
};

/// As keep_standard_free(). If no descriptor number is free for the pidfd,
/// kills the agent now, because nothing could end it later.
int move_pidfd(int pidfd) {
    if (pidfd > STDERR_FILENO) return pidfd;
    const int moved = duplicate_above_standard(pidfd);
    if (moved < 0) raw_syscall(SYS_pidfd_send_signal, arg(pidfd), arg(SIGKILL));
    close_file(pidfd);
    return moved;
}

class all_signals_blocked {
  public:
    all_signals_blocked() { // including libc's two internal signals
        const std::uint64_t all = ~std::uint64_t{0};
        raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, address_of(&all), address_of(&old_),
                    sizeof(all));
    }
    ~all_signals_blocked() {
        raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, address_of(&old_), 0, sizeof(old_));
    }

  private:
    std::uint64_t old_ = 0;
};

} // namespace

int create_kill_pipe(int& reader, int& writer) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0) return -errno;
    reader = keep_standard_free(ends[0]);
    writer = keep_standard_free(ends[1]);
    int error = reader < 0 ? reader : writer < 0 ? writer : 0;
    if (error == 0 &&
        (::fcntl(reader, F_SETSIG, SIGKILL) < 0 || ::fcntl(reader, F_SETFL, O_ASYNC) < 0))
        error = -errno;
    if (error == 0) return 0;
    for (const int end : {reader, writer})
        if (end >= 0) close_file(end);
    return error;
}

int kill_agent(int pidfd, int kill_writer) {
    const auto error =
        static_cast<int>(raw_syscall(SYS_pidfd_send_signal, arg(pidfd), arg(SIGKILL)));
    // Only write after -EPERM: a program that closes all files may have reused
    // the pipe's descriptor number.
    if (error != -EPERM) return error;
    const char byte = 0;
    return static_cast<int>(raw_syscall(SYS_write, arg(kill_writer), address_of(&byte), 1));
}

int start_agent(const agent_files& files) {
    void* stacks = ::mmap(nullptr, 2 * stack_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED) return -errno;
    char* const outer_top = static_cast<char*>(stacks) + stack_bytes;
    start_request request;
    request.files = files;
    request.inner_stack_top = outer_top + stack_bytes;
    const int saved_errno = errno;

    int middle;
    {
        const all_signals_blocked blocked;
        const not_a_subreaper reparent;
        middle = __clone(run_middle, outer_top, CLONE_VM | CLONE_VFORK | CLONE_FILES, &request);
        if (middle < 0) request.error = -errno;
        while (middle > 0 && ::waitpid(middle, nullptr, __WALL) < 0 && errno == EINTR)
            continue;
    }
    errno = saved_errno;
    ::munmap(stacks, 2 * stack_bytes);
    if (request.error != 0) {
        if (request.pidfd >= 0) close_file(request.pidfd);
        return request.error;
    }
    return move_pidfd(request.pidfd);
}

} // namespace hmmrt::sys
