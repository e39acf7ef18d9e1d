// SPDX-License-Identifier: MIT
// What errors of the kernel's calls for memory mean to the program.
#pragma once

namespace hmmrt {

/// @error: positive or negative. Throws failure.
[[noreturn]] void throw_memory_error(const char* operation, int error);

/// The same if @result is negative.
inline void check_memory_call(const char* operation, int result) {
    if (result < 0) throw_memory_error(operation, result);
}

/// Of knobs and quotas, which may be the administrator's to set.
void check_policy_call(const char* operation, int result);

} // namespace hmmrt
