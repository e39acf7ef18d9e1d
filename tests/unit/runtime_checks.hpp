// SPDX-License-Identifier: MIT
// What tests of the runtime on the fake kernel have in common: how calls fail, and how to wait.
#pragma once

#include "base/failure.hpp"
#include "fakes/fake_kernel.hpp"
#include "hmm/hmm.hpp"
#include "messages.hpp"

#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

using fakes::kernel;

/// Checks that f() throws the error of @operation. Returns the record of the error.
template <class Function>
hmmFaultRecord expect_error(hmmError_t code, const char* operation, Function f) {
    try {
        f();
        ADD_FAILURE() << operation << ": no error";
    } catch (const hmm::error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_STREQ(error.operation(), operation);
        return error.record();
    }
    return {};
}

/// The error that a part of the runtime fails with.
template <class Function>
hmmError_t code_of(Function f) {
    try {
        f();
    } catch (const hmmrt::failure& error) {
        return error.code();
    }
    return hmmSuccess;
}

/// The message of that error, or "".
template <class Function>
std::string message_of(Function f) {
    try {
        f();
    } catch (const hmmrt::failure& error) {
        return error.what();
    }
    return "";
}

/// Checks in a child of fork().
template <class Function>
bool holds_in_child(Function body) {
    const pid_t child = fork();
    if (child == 0) _exit(body() ? 0 : 1);
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
}

template <class Condition>
void wait_until(Condition condition) {
    while (!condition())
        std::this_thread::yield();
}

inline void wait_for(const std::atomic<bool>& flag) {
    wait_until([&] { return flag.load(); });
}

/// The same in device code, which ends when the device is reset.
inline void wait_on_device(const std::atomic<bool>& flag) {
    wait_until([&] { return flag || fakes::fake_kernel::agent_is_gone(); });
}

/// Runs a kernel without work, which starts the current device.
inline void run_nothing() {
    hmm::launch(1, [](std::size_t) {});
    hmm::synchronize();
}

/// Lets the current device fail.
inline void fail_device() {
    hmm::launch(1, [](std::size_t) { kernel.raise(SIGSEGV); });
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorIllegalAddress);
}

/// Gives up the errors that the calling thread has seen.
inline void forget_errors() {
    while (hmmGetLastError() != hmmSuccess)
        continue;
}
