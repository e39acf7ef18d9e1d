// SPDX-License-Identifier: MIT
#include "worker.hpp"

#include "failure.hpp"
#include "lib/spawn.hpp"
#include "work.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace bench {
namespace {

using hmmctl::failure;

[[noreturn]] void fail(int error, const char* what) {
    throw failure(std::string("cannot ") + what + ": " + std::strerror(error));
}

pid_t spawn(const std::vector<std::string>& variables, int socket) {
    try {
        return tools::start({"hmmctl-bench", worker_argument},
                            {.path = "/proc/self/exe",
                             .environment = tools::environment_with(variables),
                             .in = socket,
                             .out = socket});
    } catch (const std::system_error& error) {
        fail(error.code().value(), "start a process that measures");
    }
}

} // namespace

worker::worker(const std::vector<std::string>& variables) {
    std::array<int, 2> ends;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        fail(errno, "make a socket");
    socket_.emplace(ends[0]);
    const tools::descriptor its_end(ends[1]);
    pid_ = spawn(variables, its_end.get());
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
