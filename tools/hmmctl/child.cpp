// SPDX-License-Identifier: MIT
#include "child.hpp"

#include "failure.hpp"
#include "lib/spawn.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace hmmctl {
namespace {

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

pid_t started(std::vector<std::string> command, const std::vector<std::string>& environment,
              const sigset_t& mask) {
    static const std::vector<std::string> shell = {"/bin/sh", "-c", "exec \"$0\" \"$@\""};
    // ensure that descendants whose parent exits remain our descendants
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (;;) {
        try {
            return tools::start(
                command, {.environment = tools::environment_with(environment), .blocked = &mask});
        } catch (const std::system_error& error) {
            // run scripts without `#!` as shells do, which find them in PATH
            const bool script = error.code() == std::errc::executable_format_error;
            if (!script || command[0] == shell[0])
                throw failure(
                    fmt::format("cannot start {}: {}", command[0], error.code().message()));
            command.insert(command.begin(), shell.begin(), shell.end());
        }
    }
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
    return tools::wait_for(pid_);
}

} // namespace hmmctl
