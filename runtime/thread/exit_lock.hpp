// SPDX-License-Identifier: MIT
/*
 * The lock of exit().
 *
 * Since glibc 2.41, exit() and every function that ends in it take a lock and
 * never release it. A lane that leaves exit() would keep the lock, and the
 * program could not exit.
 *
 * glibc has no function that releases this lock, and no symbol for it. But it
 * is one of glibc's recursive locks, which are in its data and record their
 * owner. A lane in exit() holds only this one, apart from locks of streams. If
 * we find no such lock, or several, we don't release any.
 */
#pragma once

#include <cstdint>

namespace hmmrt {

/// A recursive lock of glibc.
struct recursive_lock {
    std::uint32_t word = 0; ///< 0: free, 1: held, 2: held, maybe with waiters
    std::uint32_t count = 0;
    std::uint64_t owner = 0; ///< pthread_self() of the holder
};

/// The writable data of a library.
struct library_data {
    const char* begin = nullptr;
    const char* end = nullptr;
};

/// The writable data of glibc; empty if it can't be found.
library_data find_glibc_data();

// The functions below take no locks and may run on a lane.

/// Returns the lock in @data that the caller holds, ignoring locks of standard
/// streams. NULL if there isn't exactly one.
recursive_lock* find_held_lock(const library_data& data);

/// Releases a lock that the caller holds, regardless of its recursion count.
void release(recursive_lock& held);

} // namespace hmmrt
