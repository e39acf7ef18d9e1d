// SPDX-License-Identifier: MIT
// Converts errors of the kernel's memory operations to errors of the interface.
#pragma once

namespace hmmrt {

/// Throws failure. @error may be positive or negative.
[[noreturn]] void throw_memory_error(const char* operation, int error);

/// As above, for madvise(), which has specific errors for unmapped and locked
/// memory. @error is positive.
[[noreturn]] void throw_discard_error(int error);

/// Throws failure if @result is negative.
inline void check_memory_call(const char* operation, int result) {
    if (result < 0) throw_memory_error(operation, result);
}

/// Checks the result of a knob or quota call, which may need administrator
/// privileges.
void check_policy_call(const char* operation, int result);

} // namespace hmmrt
