// SPDX-License-Identifier: MIT
// hmmctl-bench: does the measurements for `hmmctl bench`, and prints JSON. It is a separate program
// because it uses the runtime.
#include "case_runner.hpp"
#include "measurement.hpp"
#include "work.hpp"

#include <csignal>
#include <cstdio>
#include <string_view>
#include <sys/prctl.h>

namespace {

constexpr int failed = 1, used_wrongly = 2;

int print(const hmmctl::bench_result& result) {
    const std::string text = hmmctl::json_text("bench", hmmctl::to_json(result));
    if (std::fputs(text.c_str(), stdout) != EOF && std::fflush(stdout) != EOF) return 0;
    std::perror("hmmctl-bench: cannot write the result");
    return failed;
}

int measure(const char* text) {
    hmmctl::bench_plan plan;
    try {
        plan = hmmctl::plan_from(hmmctl::json::parse(text));
    } catch (const hmmctl::json::exception&) {
        std::fputs("hmmctl-bench: `hmmctl bench` starts this program\n", stderr);
        return used_wrongly;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM); // a measurement without hmmctl has no reader
    return print(bench::measure(plan));
}

} // namespace

int main(int argc, char** argv) {
    const char* const argument = argc == 2 ? argv[1] : "";
    try {
        if (std::string_view(argument) != bench::worker_argument) return measure(argument);
        bench::serve();
        return 0;
    } catch (const hmm::error& error) {
        std::fprintf(stderr, "hmmctl-bench: %s: %s\n", error.operation(), error.what());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hmmctl-bench: %s\n", error.what());
    }
    return failed;
}
