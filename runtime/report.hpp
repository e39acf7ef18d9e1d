// SPDX-License-Identifier: MIT
// Converts the fault record of a lane to the texts and records of the
// interface.
#pragma once

#include "agent/control.h"
#include "hmm/hmm_runtime.h"
#include "message.hpp"

#include <string>

namespace hmmrt {

hmmError_t error_of(const fault_block& fault);
hmmFaultRecord record_of(const fault_block& fault, int device);
/// "device 0, lane 1, items 0 to 9: write of address 0x10, nothing is mapped
/// there". @exception: type and text of the exception, if that is the cause. Uses
/// no heap.
void describe(message& out, const fault_block& fault, int device, const char* exception);
/// As above, with the instruction, and its @place in the program if that is
/// known.
std::string describe(const fault_block& fault, int device, const char* place = "",
                     const char* exception = "");

/// True if the instruction says where the kernel was. After an exception it is
/// in the library, and after a time limit it is unknown.
bool has_place(const fault_block& fault);
/// True if the access was outside of the lane's stack, below it.
bool overflows_stack(const fault_block& fault);

/// "getpid", or "system call 9999".
std::string system_call_name(int number);
/// Adds the same to a message.
void add_system_call(message& out, int number);

} // namespace hmmrt
