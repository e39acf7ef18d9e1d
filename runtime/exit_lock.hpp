// SPDX-License-Identifier: MIT
/*
 * The lock of exit().
 *
 * From glibc 2.41 on, exit() and each function that ends in it take a lock that
 * they never release. A lane that leaves exit() would keep it, and the program
 * could not end.
 *
 * No function of glibc releases the lock, and no symbol names it. It is one of
 * glibc's recursive locks, which are in its data and say which thread holds
 * them. A lane in exit() holds this one and, except for those of streams, no
 * other. If the data has none, or several, nothing is released.
 */
#pragma once

#include <cstdint>

namespace hmmrt {

/// A recursive lock of glibc.
struct recursive_lock {
    std::uint32_t word = 0; ///< 0: free, 1: held, 2: held, and threads may wait
    std::uint32_t count = 0;
    std::uint64_t owner = 0; ///< its pthread_self()
};

/// The variables of a library.
struct library_data {
    const char* begin = nullptr;
    const char* end = nullptr;
};

/// The variables of glibc; empty if they are not found.
library_data find_glibc_data();

// The functions below take no lock, and may run on a lane.

/// Returns the only lock in @data that the caller holds and that is not one of
/// a standard stream, or NULL.
recursive_lock* find_held_lock(const library_data& data);

/// Releases a lock that the caller holds, however often it has taken it.
void release(recursive_lock& held);

} // namespace hmmrt
