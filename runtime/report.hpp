// SPDX-License-Identifier: MIT
// Converts a lane's fault record to the messages and records of the interface.
#pragma once

#include "agent/control.h"
#include "hmm/hmm_runtime.h"
#include "message.hpp"

#include <string>

namespace hmmrt {

hmmError_t error_of(const fault_block& fault);
hmmFaultRecord record_of(const fault_block& fault, int device);
/// "device 0, lane 1, items 0 to 9: write at address 0x10: nothing is mapped
/// there". @exception: type and message of the exception, if that is the cause.
/// Avoids the heap.
void describe(message& out, const fault_block& fault, int device, const char* exception);
/// As above, with the instruction and, if known, its @place in the program.
std::string describe(const fault_block& fault, int device, const char* place = "",
                     const char* exception = "");

/// True if the recorded instruction is where the kernel failed. For an
/// exception it is in the library, and for a time limit it is unknown.
bool has_place(const fault_block& fault);
/// True if the failed access was below the lane's stack.
bool overflows_stack(const fault_block& fault);

/// "getpid", or "number 9999".
std::string system_call_name(int number);
/// As above, appended to a message.
void add_system_call(message& out, int number);

} // namespace hmmrt
