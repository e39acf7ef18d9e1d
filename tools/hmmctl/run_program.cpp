// SPDX-License-Identifier: MIT
#include "run_program.hpp"

#include "failure.hpp"
#include "lib/files.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hmmctl {
namespace {

constexpr int not_started = 127; // as in shells

[[noreturn]] void fail_to(const char* what) {
    throw failure(fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

/// Returns a memory file with this text, positioned at its start.
tools::descriptor file_with(const std::string& text) {
    tools::descriptor file(memfd_create("hmmctl input", MFD_CLOEXEC));
    if (file.get() < 0) fail_to("create a memory file");
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t wrote = write(file.get(), text.data() + done, text.size() - done);
        if (wrote < 0) fail_to("write a memory file");
        done += static_cast<std::size_t>(wrote);
    }
    if (lseek(file.get(), 0, SEEK_SET) != 0) fail_to("read a memory file");
    return file;
}

/// Executes the program, or reports why that failed. The program gets SIGTERM when this process
/// ends.
[[noreturn]] void become(const std::vector<std::string>& command, int in, int out) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& one : command)
        arguments.push_back(const_cast<char*>(one.c_str()));
    arguments.push_back(nullptr);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
        execvp(arguments[0], arguments.data());
    const std::string text =
        fmt::format("hmmctl: cannot start {}: {}\n", command[0], std::strerror(errno));
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    _exit(not_started);
}

std::string read_all(int from) {
    std::string text;
    std::array<char, 65536> some;
    for (;;) {
        const ssize_t got = read(from, some.data(), some.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail_to("read");
        if (got == 0) return text;
        text.append(some.data(), static_cast<std::size_t>(got));
    }
}

} // namespace

std::string output_of(const std::vector<std::string>& command, const std::string& input,
                      const std::string& if_failed, const std::string& if_missing) {
    const tools::descriptor in = file_with(input);
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_to("create a pipe");
    const tools::descriptor from(ends[0]);
    std::optional<tools::descriptor> to(ends[1]);
    const pid_t child = fork();
    if (child < 0) fail_to("fork");
    if (child == 0) become(command, in.get(), ends[1]);
    to.reset();
    std::string text = read_all(from.get());
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) fail_to("wait");
    if (WIFSIGNALED(status))
        throw failure(fmt::format("signal {} killed {}", WTERMSIG(status), command[0]));
    if (WEXITSTATUS(status) == not_started) throw failure(if_missing);
    if (WEXITSTATUS(status) != 0) throw failure(if_failed);
    return text;
}

} // namespace hmmctl
