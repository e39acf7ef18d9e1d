// SPDX-License-Identifier: MIT
// Names blocks and threads in messages about failures. Lanes call this.
#pragma once

#include "device_code.hpp"

#include <string>

namespace hmmcuda {

/// "kernel add(int*), block (0, 1, 0)"
std::string name_of(const block_run& run);
/// "thread (5, 0, 0)" for a thread number in the block.
std::string thread_of(const block_run& run, std::uint32_t thread);

/// Writes a line with the kernel, the block and the formatted text to standard error, and ends the
/// launch.
[[noreturn, gnu::format(printf, 2, 3)]] void fail_block(const block_run& run, const char* pattern,
                                                        ...);

} // namespace hmmcuda
