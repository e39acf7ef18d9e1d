// SPDX-License-Identifier: MIT
// Accesses from the events of `hmmctl trace record`.
//
// An event is a fault, and most accesses don't fault. So the trace has for each device or CPU fault
// one access to its page, with the time between them; and each prefetch. It lacks accesses to pages
// that were mapped already, so it repeats the faults, migrations and evictions of the recorded
// policy, but says little about a policy that keeps other pages: its result is a lower bound of
// faults, and costs of accesses are missing. It also lacks advice, other processes and other
// devices than the one with the most faults.
#pragma once

#include "trace.hpp"

namespace replay {

/// Throws hmmctl::failure if the bytes are no recording, or one without device faults.
trace trace_of_recording(std::string_view bytes, const std::string& from);

} // namespace replay
