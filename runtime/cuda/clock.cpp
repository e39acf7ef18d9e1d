// SPDX-License-Identifier: MIT
#include <ctime>

#include <immintrin.h>

/// Replaces clock() in device code.
extern "C" clock_t __hmm_clock() noexcept {
    return static_cast<clock_t>(__rdtsc());
}
