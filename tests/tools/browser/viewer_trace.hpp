// SPDX-License-Identifier: MIT
// The recording that hmmctl-viewer-test shows.
#pragma once

#include "trace_file.hpp"

#include <string>
#include <vector>

/// An event, and what it is called in a viewer.
struct named_event {
    hmmrt_event event;
    std::string name;
};

struct viewed_recording {
    hmmctl::trace_header header;
    std::vector<hmmctl::observed_process> processes;
    std::vector<named_event> events; ///< in the order of their ends
};

/// Returns one with all that a viewer shows: lanes of two devices that serve faults of each other,
/// migrations that overlap on a link, events within others that begin or end with them, events of
/// no process, and an event that began before the recording did.
viewed_recording recording_for_a_viewer();

void write_recording(const viewed_recording& recorded, const std::string& path);
