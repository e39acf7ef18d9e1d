// SPDX-License-Identifier: MIT
#include "block_name.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>

namespace hmmcuda {
namespace {

std::string triple(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    return " (" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

} // namespace

std::string name_of(const block_run& run) {
    int status = 0;
    char* const demangled = abi::__cxa_demangle(run.kernel->name, nullptr, nullptr, &status);
    std::string text = "kernel ";
    text += demangled != nullptr ? demangled : run.kernel->name;
    std::free(demangled);
    return text + ", block" + triple(run.index[0], run.index[1], run.index[2]);
}

std::string thread_of(const block_run& run, std::uint32_t thread) {
    const std::uint32_t row = thread / run.block[0];
    return "thread" + triple(thread % run.block[0], row % run.block[1], row / run.block[1]);
}

void fail_block(const block_run& run, const char* pattern, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, pattern);
    std::vsnprintf(text, sizeof(text), pattern, arguments);
    va_end(arguments);
    std::fprintf(stderr, "hmmcuda: %s: %s\n", name_of(run).c_str(), text);
    std::abort();
}

} // namespace hmmcuda

using namespace hmmcuda;

// hmmcc's passes create calls to these.
extern "C" {

/// Replaces __assert_fail().
[[noreturn]] void __hmm_assert_fail(const block_run* run, std::uint32_t thread,
                                    const char* condition, const char* file, std::uint32_t line,
                                    const char* function) {
    std::fprintf(stderr, "hmmcuda: %s, %s: %s:%u: %s: Assertion `%s' failed.\n",
                 name_of(*run).c_str(), thread_of(*run, thread).c_str(), file, line, function,
                 condition);
    std::abort();
}

/// Called before a trap.
void __hmm_report_trap(const block_run* run, std::uint32_t thread, std::uint32_t line,
                       const char* file) {
    std::fprintf(stderr, "hmmcuda: %s, %s: %s:%u: trap\n", name_of(*run).c_str(),
                 thread_of(*run, thread).c_str(), file, line);
}

} // extern "C"
