// SPDX-License-Identifier: MIT
/*
 * Describes the faults of devices: converts a lane's fault record to the
 * messages and records of the interface, and composes the report on standard
 * error.
 */
#pragma once

#include "agent/control.h"
#include "base/message.hpp"
#include "hmm/hmm_runtime.h"

#include <cstdint>
#include <string>

namespace hmmrt {

hmmError_t error_of(const fault_record& fault);
hmmFaultRecord record_of(const fault_record& fault, int device);
/// "device 0, lane 1, items 0 to 9: write at address 0x10: nothing is mapped
/// there". @exception: type and message of the exception, if that is the cause.
/// Avoids the heap.
void describe(message& out, const fault_record& fault, int device, const char* exception);
/// As above, with the instruction and, if known, its @place in the program.
std::string describe(const fault_record& fault, int device, const char* place = "",
                     const char* exception = "");

/// True if the recorded instruction is where the kernel failed. For an
/// exception it is in the library, and for a time limit it is unknown.
bool has_place(const fault_record& fault);
/// True if the failed access was below the lane's stack.
bool overflows_stack(const fault_record& fault);

/// "getpid", or "number 9999".
std::string system_call_name(int number);
/// As above, appended to a message.
void add_system_call(message& out, int number);

// ---- the report

/// Whether to demangle names of C++ functions. Demangling uses the heap, which
/// the failed lane may have locked.
enum class names : std::uint8_t { demangled, raw };

/// "store(int*)+0x1c, main.cpp:12"; empty if the place is unknown.
void add_place(message& out, std::uint64_t address, names how);
/// The kernel of a launch @function, without the library function that calls
/// it.
void add_kernel(message& out, std::uint64_t function, names how);

/// The place of the instruction that failed, or the kernel if that is unknown.
void add_fault_place(message& out, const fault_record& fault, names how);

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
void add_report(message& out, const fault_record& fault, int device, const char* exception,
                names how);

} // namespace hmmrt
