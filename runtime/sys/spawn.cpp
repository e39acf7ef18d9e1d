// SPDX-License-Identifier: MIT
/*
 * Starting the agent so that the program does not notice.
 *
 * A middle process shares our memory and descriptors, starts a session, starts the
 * agent, and ends without a signal; only __WALL can wait for it. The agent, which
 * execveat() makes an ordinary child again, is thus never ours: no SIGCHLD, no
 * stranger in wait(), no Ctrl-C. Its pidfd arrives in our table through the
 * middle process.
 *
 * Where it may not be sent a signal it is killed by a pipe, whose reader has SIGKILL as
 * its signal and the agent as its owner. Permission for that goes by the user ids with which the
 * owner was set, which are the agent's. Those of the program may be others when it wants the agent
 * to end.
 *
 * No process may look at the agent or trace it, from its first instruction on. Its image can be
 * executed and not read, which makes the kernel start it undumpable, unless a capability permits
 * to read the image all the same: those are not effective at exec. They stay permitted until then:
 * the agent still has the memory of the owner, which a process with fewer capabilities could
 * reach through it.
 *
 * Between clone() and exec nothing here may touch errno or other TLS: it is the
 * calling thread's.
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

namespace hmmrt::sys {
namespace {

constexpr std::size_t stack_bytes = 64 << 10;
constexpr int image_fd = 5;
constexpr int first_temporary_fd = 16;

struct start_request {
    agent_files files;
    char* inner_stack_top;
    int pidfd = -1;
    int error = 0;
};

std::uint64_t arg(int value) {
    return static_cast<std::uint64_t>(value);
}

/// It owns the signals of the pipe from now on.
std::int64_t own_kill_pipe(int reader) {
    return raw_syscall(SYS_fcntl, arg(reader), F_SETOWN,
                       static_cast<std::uint64_t>(raw_syscall(SYS_getpid)));
}

/// Of the calling task, which keeps the permitted ones.
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

/// Moves the three files to the numbers the agent expects and closes all others.
std::int64_t arrange_files(const agent_files& files) {
    const int sources[3] = {files.control, files.gpu, files.image};
    const int targets[3] = {agent_control_fd, agent_gpu_fd, image_fd};
    std::int64_t temporary[3];

    // The targets may be sources of each other: copy all out of the way first.
    for (int i = 0; i < 3; i++) {
        temporary[i] = raw_syscall(SYS_fcntl, arg(sources[i]), F_DUPFD_CLOEXEC, first_temporary_fd);
        if (temporary[i] < 0) return temporary[i];
    }
    for (int i = 0; i < 3; i++) {
        const std::uint64_t flags = targets[i] == image_fd ? O_CLOEXEC : 0;
        const std::int64_t result =
            raw_syscall(SYS_dup3, static_cast<std::uint64_t>(temporary[i]), arg(targets[i]), flags);
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
    if (::clone(run_agent, request.inner_stack_top, CLONE_VM | CLONE_VFORK | CLONE_PIDFD, &request,
                &request.pidfd) < 0)
        request.error = -EAGAIN; // errno belongs to the thread that waits for us
    for (;;)
        raw_syscall(SYS_exit, 0);
}

/// Held from the moment that the flag is read until it is as it was: another thread that starts an
/// agent would read it cleared, and its agent would be orphaned after it is set again. A child of
/// fork() never takes it: devices do not follow there.
constinit std::mutex subreaper_lock;

/// Orphans of a subreaper become its children: not to be one for a moment. Setting the flag again
/// covers the children that were forked meanwhile.
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

/// As keep_standard_free(). An agent whose pidfd there is no number for ends now: nothing else
/// could end it.
int move_pidfd(int pidfd) {
    if (pidfd > STDERR_FILENO) return pidfd;
    const int moved = ::fcntl(pidfd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int result = moved < 0 ? -errno : moved;
    if (moved < 0) raw_syscall(SYS_pidfd_send_signal, arg(pidfd), arg(SIGKILL));
    close_file(pidfd);
    return result;
}

class all_signals_blocked {
  public:
    all_signals_blocked() { // libc's own two signals, too
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
    // A program that closes all its files may have one of its own by that number.
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
        middle = ::clone(run_middle, outer_top, CLONE_VM | CLONE_VFORK | CLONE_FILES, &request);
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
