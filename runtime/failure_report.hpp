// SPDX-License-Identifier: MIT
// The messages on standard error when a device has failed.
#pragma once

#include "agent/control.h"
#include "message.hpp"

#include <cstdint>

namespace hmmrt {

/// Whether to demangle names of C++ functions. Demangling uses the heap, which
/// the failed lane may have locked.
enum class names : std::uint8_t { demangled, raw };

/// "store(int*)+0x1c, main.cpp:12"; empty if the place is unknown.
void add_place(message& out, std::uint64_t address, names how);
/// The kernel of a launch @function, without the library function that calls
/// it.
void add_kernel(message& out, std::uint64_t function, names how);

/// The place of the instruction that failed, or the kernel if that is unknown.
void add_fault_place(message& out, const fault_block& fault, names how);

/// A lane that runs device code.
struct running_lane {
    std::uint32_t index;
    std::uint64_t function;
    std::uint64_t first_item;
    std::uint64_t item_count;
    std::uint64_t milliseconds; ///< since it started these items
};
struct running_lanes {
    std::uint32_t count = 0;
    running_lane lane[max_lanes];
};

/// Which work is running while a thread waits.
void add_waiting(message& out, int device, unsigned seconds, const running_lanes& lanes, names how);

/// The whole report: what happened, where, and up to three callers. @exception:
/// see describe().
void add_report(message& out, const fault_block& fault, int device, const char* exception,
                names how);

} // namespace hmmrt
