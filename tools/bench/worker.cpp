// SPDX-License-Identifier: MIT
#include "worker.hpp"

#include "failure.hpp"
#include "work.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace bench {
namespace {

using hmmctl::failure;

[[noreturn]] void fail(int error, const char* what) {
    throw failure(std::string("cannot ") + what + ": " + std::strerror(error));
}

std::string name_of(const std::string& variable) {
    return variable.substr(0, variable.find('=') + 1);
}

/// Returns this process's environment with some variables replaced.
std::vector<std::string> environment_with(std::vector<std::string> variables) {
    const std::size_t given = variables.size();
    for (char** next = environ; *next != nullptr; next++) {
        const std::string one = *next;
        const auto end = variables.begin() + static_cast<std::ptrdiff_t>(given);
        if (std::none_of(variables.begin(), end, [&](const std::string& other) {
                return one.compare(0, name_of(other).size(), name_of(other)) == 0;
            }))
            variables.push_back(one);
    }
    return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> result;
    result.reserve(texts.size() + 1);
    for (std::string& text : texts)
        result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

pid_t spawn(std::vector<std::string> environment, int socket) {
    std::vector<std::string> command = {"hmmctl-bench", worker_argument};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
    pid_t pid = -1;
    const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr,
                                  pointers_to(command).data(), pointers_to(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) fail(error, "start a process that measures");
    return pid;
}

} // namespace

worker::worker(const std::vector<std::string>& variables) {
    std::array<int, 2> ends;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        fail(errno, "make a socket");
    socket_.emplace(ends[0]);
    const tools::descriptor its_end(ends[1]);
    pid_ = spawn(environment_with(variables), its_end.get());
}

worker::worker(worker&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), socket_(std::move(other.socket_)) {}

worker::~worker() {
    if (pid_ < 0) return;
    socket_.reset(); // the worker reads end of file and exits
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void worker::write_line(const std::string& line) const {
    const std::string text = line + '\n';
    if (send(socket_->get(), text.data(), text.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(text.size()))
        throw failure("a process that measures has ended");
}

hmmctl::json worker::read_line() const {
    std::string line;
    for (char next = 0; next != '\n'; line += next) {
        ssize_t got = 0;
        do {
            got = read(socket_->get(), &next, 1);
        } while (got < 0 && errno == EINTR);
        if (got != 1) throw failure("a process that measures has ended");
    }
    return hmmctl::json::parse(line);
}

void worker::prepare(const hmmctl::json& request) const {
    write_line(request.dump());
    read_line();
}

void worker::start() const {
    write_line(run_request);
}

interval worker::result() const {
    const hmmctl::json answer = read_line();
    return {answer.at("start").get<std::int64_t>(), answer.at("end").get<std::int64_t>()};
}

double seconds_together(std::span<const worker> workers, const hmmctl::json& request) {
    for (const worker& one : workers)
        one.prepare(request);
    for (const worker& one : workers)
        one.start();
    interval all = {std::numeric_limits<std::int64_t>::max(), 0};
    for (const worker& one : workers) {
        const interval taken = one.result();
        all = {std::min(all.start, taken.start), std::max(all.end, taken.end)};
    }
    return static_cast<double>(all.end - all.start) * 1e-9;
}

} // namespace bench
