// SPDX-License-Identifier: MIT
#include "child.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hmmctl {
namespace {

constexpr int signalled = 128; // shells add this to the signal that killed a command

sigset_t signals_that_end() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

int signals_file(sigset_t& before) {
    const sigset_t wanted = signals_that_end();
    sigprocmask(SIG_BLOCK, &wanted, &before);
    return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

/// If exec fails, writes the errno to @report; otherwise exec closes @report.
[[noreturn]] void become(char** arguments, const std::vector<std::string>& environment,
                         const sigset_t& mask, int report) {
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    for (const std::string& one : environment)
        putenv(const_cast<char*>(one.c_str()));
    execvp(arguments[0], arguments);
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(report, &error, sizeof(error));
    _exit(127);
}

pid_t started(std::vector<std::string> command, const std::vector<std::string>& environment,
              const sigset_t& mask) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (std::string& word : command)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    // ensure that descendants whose parent exits remain our descendants
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) < 0)
        throw failure(fmt::format("cannot start {}: {}", command[0], std::strerror(errno)));
    const tools::descriptor from(ends[0]);
    std::optional<tools::descriptor> to(ends[1]);
    const pid_t pid = fork();
    if (pid == 0) become(arguments.data(), environment, mask, ends[1]);
    int error = pid < 0 ? errno : 0;
    to.reset();
    if (pid > 0 && read(from.get(), &error, sizeof(error)) == sizeof(error))
        waitpid(pid, nullptr, 0);
    if (error != 0)
        throw failure(fmt::format("cannot start {}: {}", command[0], std::strerror(error)));
    return pid;
}

} // namespace

signal_watch::signal_watch() : before_(), file_(signals_file(before_)) {}

signal_watch::~signal_watch() {
    sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<signal_watch::arrival> signal_watch::take() const {
    signalfd_siginfo info = {};
    if (read(file_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
    return arrival{static_cast<int>(info.ssi_signo), info.ssi_code != SI_KERNEL};
}

child::child(const std::vector<std::string>& command, const signal_watch& signals,
             const std::vector<std::string>& environment)
    : pid_(started(command, environment, signals.mask_before())),
      file_(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0))) {
    if (file_.get() < 0)
        throw failure(fmt::format("cannot watch {}: {}", command[0], std::strerror(errno)));
}

void child::send(int signal) const {
    kill(pid_, signal);
}

int child::wait() const {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0)
        if (errno != EINTR)
            throw failure(fmt::format("cannot wait for the command: {}", std::strerror(errno)));
    return WIFSIGNALED(status) ? signalled + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace hmmctl
