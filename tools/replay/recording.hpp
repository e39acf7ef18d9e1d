// SPDX-License-Identifier: MIT
// Accesses from the events of `hmmctl trace record`.
//
// With --accesses a recording has each use of a page by the device, except repeated ones of the
// last pages. The trace has these, CPU faults, prefetches and unmapping, with the time that the
// program took in between. How many lines a use needs isn't known: the costs assume all of a page.
// Memory that the device never had an entry of isn't part of windows, and memory that can't
// migrate, like that of files, is left out.
//
// Without, an event is a fault, and most accesses don't fault. Then the trace has one access to its
// page for each device fault. It repeats the faults, migrations and evictions of the recorded
// policy, but says little about a policy that keeps other pages: its result is a lower bound of
// faults, and costs of accesses are missing.
//
// Both lack advice, other processes, other devices than the one with the most faults, and CPU
// accesses that didn't fault.
#pragma once

#include "trace.hpp"

namespace replay {

/// Throws hmmctl::failure if the bytes are no recording, or one without device faults.
trace trace_of_recording(std::string_view bytes, const std::string& from);

} // namespace replay
