// SPDX-License-Identifier: MIT
// Converts the fault record of a lane to the texts and records of the
// interface.
#pragma once

#include "agent/control.h"
#include "hmm/hmm_runtime.h"

#include <string>

namespace hmmrt {

hmmError_t error_of(const fault_block& fault);
hmmFaultRecord record_of(const fault_block& fault, int device);
/// "device 0, lane 1: write of 0x10 (nothing is mapped there) by the
/// instruction at ..."
std::string describe(const fault_block& fault, int device);

/// "getpid", or "system call 9999".
std::string system_call_name(int number);

} // namespace hmmrt
