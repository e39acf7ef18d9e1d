// SPDX-License-Identifier: MIT
#include "thread/lane_thread.hpp"

#include "agent/control.h"
#include "base/failure.hpp"
#include "base/message.hpp"
#include "base/settings.hpp"
#include "sys/syscalls.hpp"

#include <pthread.h>

namespace hmmrt {
namespace {

/// Some programs use tiny stacks for their own threads.
constexpr std::size_t smallest_default = 1 << 20;

thread_local bool on_lane = false;

} // namespace

std::size_t lane_stack_bytes() {
    pthread_attr_t attributes;
    std::size_t bytes = 8 << 20;
    if (pthread_getattr_default_np(&attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &bytes);
        pthread_attr_destroy(&attributes);
    }
    if (bytes < smallest_default) bytes = smallest_default;
    return choose_stack_bytes(sys::environment("HMMRT_STACK_SIZE"),
                              (bytes + page_size - 1) & ~(page_size - 1));
}

std::string describe_start_error(std::size_t stack_bytes, int error) {
    message operation;
    operation.add("cannot start a lane's thread with a stack of ");
    operation.add_size(stack_bytes);
    operation.add(" (HMMRT_STACK_SIZE)");
    return describe_errno(operation.text(), error);
}

bool calling_thread_is_lane() {
    return on_lane;
}

void mark_thread_as_lane(bool lane) {
    on_lane = lane;
}

int install_free_signal(const struct sigaction& action) {
    for (int signal = SIGRTMAX - 1; signal >= SIGRTMIN; signal--) {
        struct sigaction old;
        if (sigaction(signal, nullptr, &old) != 0) continue;
        if ((old.sa_flags & SA_SIGINFO) != 0 || old.sa_handler != SIG_DFL) continue;
        if (sigaction(signal, &action, nullptr) == 0) return signal;
    }
    return 0;
}

} // namespace hmmrt
