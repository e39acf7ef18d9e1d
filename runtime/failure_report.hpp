// SPDX-License-Identifier: MIT
// The messages on standard error when a device has failed.
#pragma once

#include "agent/control.h"
#include "message.hpp"

#include <cstdint>

namespace hmmrt {

/// If names of C++ functions are demangled. That uses the heap, which the lane
/// that failed may have locked.
enum class names : std::uint8_t { demangled, raw };

/// "store(int*)+0x1c, main.cpp:12"; empty if nothing is known.
void add_place(message& out, std::uint64_t address, names how);
/// The kernel behind a function of a launch: without the function of the
/// library that calls it.
void add_kernel(message& out, std::uint64_t function, names how);

/// The place of the instruction that failed, or else the kernel.
void add_fault_place(message& out, const fault_block& fault, names how);

/// A lane that runs device code.
struct running_lane {
    std::uint32_t index;
    std::uint64_t function;
    std::uint64_t first_item;
    std::uint64_t item_count;
    std::uint64_t milliseconds; ///< since it started with these items
};
struct running_lanes {
    std::uint32_t count = 0;
    running_lane lane[max_lanes];
};

/// The work that runs while a thread waits.
void add_waiting(message& out, int device, unsigned seconds, const running_lanes& lanes, names how);

/// The whole report: what happened, where, and three callers. @exception: as for
/// describe().
void add_report(message& out, const fault_block& fault, int device, const char* exception,
                names how);

} // namespace hmmrt
