// SPDX-License-Identifier: MIT
// hmmctl-replay: simulates policies for `hmmctl replay`, and prints JSON. It is a separate program
// because it is linked with policies of the kernel module: the program is under GPL-2.0-only.
#include "failure.hpp"
#include "replay_run.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <sys/prctl.h>

namespace {

constexpr int failed = 1, used_wrongly = 2;

int print(const hmmctl::json& answer) {
    const std::string text = hmmctl::json_text(answer);
    if (std::fputs(text.c_str(), stdout) != EOF && std::fflush(stdout) != EOF) return 0;
    std::perror("hmmctl-replay: cannot write the result");
    return failed;
}

} // namespace

int main(int argc, char** argv) {
    hmmctl::replay_plan plan;
    try {
        plan = hmmctl::plan_of_replay(hmmctl::json::parse(argc == 2 ? argv[1] : ""));
    } catch (const hmmctl::json::exception&) {
        std::fputs("hmmctl-replay: `hmmctl replay` starts this program\n", stderr);
        return used_wrongly;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM); // without hmmctl, nothing reads the result
    try {
        return print(plan.lists ? replay::listed() : replay::replayed(plan));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hmmctl-replay: %s\n", error.what());
    }
    return failed;
}
