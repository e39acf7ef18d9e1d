// SPDX-License-Identifier: MIT
#include "exit_guard.hpp"

#include "fork_guard.hpp"
#include "process.hpp"

#include <cstdlib>
#include <exception>

namespace hmmrt {
namespace {

void note_failures() {
    if (fork_guard::is_child()) return;
    try {
        for (const auto& each : process::get().devices())
            each->note_at_exit();
    } catch (const std::exception&) {
        return; // no device
    }
}

} // namespace

void guard_exit_of_process() {
    static const int once = std::atexit(note_failures);
    static_cast<void>(once);
}

} // namespace hmmrt
