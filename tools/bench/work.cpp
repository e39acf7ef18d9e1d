// SPDX-License-Identifier: MIT
#include "work.hpp"

#include "worker.hpp"

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

namespace bench {
namespace {

/// Reads the steady clock, which all processes share.
std::int64_t now() {
    const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::nanoseconds(since_start).count();
}

void answer(const hmmctl::json& with) {
    const std::string text = with.dump() + '\n';
    if (std::fputs(text.c_str(), stdout) == EOF || std::fflush(stdout) == EOF)
        throw std::runtime_error("nothing reads the answers of a process that measures");
}

} // namespace

std::unique_ptr<work> make_work(const hmmctl::json& request) {
    const auto name = request.at("work").get<std::string>();
    const auto pages = request.at("pages").get<std::size_t>();
    if (name == "test-hmm" || name == "test-hmm-back")
        return make_test_hmm_work(pages, name == "test-hmm-back");
    if (name == "storm" || name == "prefetch")
        return make_scaling_work(name == "storm", {request.at("devices").get<unsigned>(),
                                                   request.at("lanes").get<unsigned>(), pages});
    throw std::invalid_argument("there is no work " + name);
}

void serve() {
    std::unique_ptr<work> next;
    for (std::string line; std::getline(std::cin, line);) {
        if (line != run_request) {
            next = make_work(hmmctl::json::parse(line));
            answer(hmmctl::json::object());
            continue;
        }
        const std::int64_t start = now();
        next->run();
        const std::int64_t end = now();
        next.reset();
        answer({{"start", start}, {"end", end}});
    }
}

} // namespace bench
