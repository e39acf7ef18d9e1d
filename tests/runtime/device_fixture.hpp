// SPDX-License-Identifier: MIT
// A fixture that resets the device after each test.
#pragma once

#include "capability.hpp"

#include <hmm/hmm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <optional>
#include <string>
#include <unistd.h>

/// Runs @body as a launch of one item and waits for it.
template <class Function>
void on_device(Function body) {
    hmm::launch(1, [&](std::size_t) { body(); });
    hmm::synchronize();
}

/// Returns the error that ends a launch of one item, if there is one.
template <class Function>
std::optional<hmm::error> error_on_device(Function body) {
    try {
        on_device(body);
    } catch (const hmm::error& error) {
        return error;
    }
    return std::nullopt;
}

/// For tests in which one item waits for another, which need several lanes.
inline bool has_lanes(int wanted) {
    return hmm::current_device().properties().multiProcessorCount >= wanted;
}

/// Waits until a thread of this process sleeps. Its id may still be unset.
inline bool falls_asleep(const std::atomic<pid_t>& thread) {
    for (int i = 0; i < 6000; i++, usleep(10000)) {
        std::ifstream status("/proc/self/task/" + std::to_string(thread.load()) + "/status");
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("State:\tS")) return true;
    }
    return false;
}

/// Returns true if the last move of each page was by a prefetch.
inline bool all_prefetched(const hmm::page_states& found) {
    return std::all_of(found.begin(), found.end(),
                       [](const hmmPageState& page) { return page.cause == hmmMoveCausePrefetch; });
}

class OnDevice : public testing::Test {
  protected:
    ~OnDevice() override { hmmDeviceReset(); }

    /// Expects that the device works, possibly after a reset.
    static void expect_usable() {
        int answer = 0;
        on_device([&] { answer = 42; });
        EXPECT_EQ(answer, 42);
    }
};
