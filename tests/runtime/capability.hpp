// SPDX-License-Identifier: MIT
// Requirements that a test has of the device, the program or the user.
#pragma once

#include <hmm/hmm.hpp>

#include <gtest/gtest.h>

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Removes a capability from its thread for the lifetime of the object.
class without_capability {
  public:
    explicit without_capability(unsigned which) {
        EXPECT_EQ(syscall(SYS_capget, &header_, powers_), 0);
        __user_cap_data_struct less[] = {powers_[0], powers_[1]};
        less[which / 32].effective &= ~(1u << which % 32);
        EXPECT_EQ(syscall(SYS_capset, &header_, less), 0);
    }
    without_capability(const without_capability&) = delete;
    without_capability& operator=(const without_capability&) = delete;
    ~without_capability() { syscall(SYS_capset, &header_, powers_); }

  private:
    __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct powers_[2] = {};
};

/// Limits how much memory its thread can lock, for the lifetime of the object.
class locked_memory_limit {
  public:
    explicit locked_memory_limit(rlim_t limit) {
        EXPECT_EQ(getrlimit(RLIMIT_MEMLOCK, &before_), 0);
        const rlimit lower = {limit, before_.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_MEMLOCK, &lower), 0);
    }
    ~locked_memory_limit() { setrlimit(RLIMIT_MEMLOCK, &before_); }

  private:
    rlimit before_ = {};
    without_capability no_exception_{CAP_IPC_LOCK};
};

/// True for the cpu device: device code runs in this process, and no page moves.
inline bool is_cpu_device() {
    return hmm::current_device().properties().pageableMemoryAccessUsesHostPageTables != 0;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool has_sanitizer = true;
#else
inline constexpr bool has_sanitizer = false;
#endif
#ifdef __SANITIZE_THREAD__
inline constexpr bool delays_signals = true;
inline constexpr int own_threads = 2;
#else
inline constexpr bool delays_signals = false;
inline constexpr int own_threads = 1; ///< of a program that hasn't started any
#endif

/// For tests that check where pages are, or count faults.
#define NEEDS_PAGES_THAT_MOVE()                                                                    \
    if (is_cpu_device()) GTEST_SKIP() << "the cpu device has no memory that pages move to"

/// For tests that need the kernel to observe or refuse something.
#define NEEDS_KERNEL()                                                                             \
    if (is_cpu_device()) GTEST_SKIP() << "the cpu device sees no munmap() and asks no privilege"

/// For tests of the agent, and of the border around device code.
#define NEEDS_AGENT()                                                                              \
    if (is_cpu_device()) GTEST_SKIP() << "the cpu device has no agent"

/// For tests in which device code fails.
#define NEEDS_FAILURES()                                                                           \
    if (has_sanitizer) GTEST_SKIP() << "a sanitizer ends the program when device code fails"

/// For tests in which device code must be interrupted.
#define NEEDS_INTERRUPTION()                                                                       \
    if (delays_signals) GTEST_SKIP() << "TSan delivers signals to calls of libraries only"
