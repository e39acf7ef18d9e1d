// SPDX-License-Identifier: MIT
#include "lane_thread.hpp"

#include "agent/control.h"

#include <pthread.h>

namespace hmmrt {
namespace {

constexpr std::size_t smallest_stack = 1 << 20;

thread_local bool on_lane = false;

} // namespace

std::size_t lane_stack_bytes() {
    pthread_attr_t attributes;
    std::size_t bytes = 8 << 20;
    if (pthread_getattr_default_np(&attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &bytes);
        pthread_attr_destroy(&attributes);
    }
    if (bytes < smallest_stack) bytes = smallest_stack;
    return (bytes + page_size - 1) & ~(page_size - 1);
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
