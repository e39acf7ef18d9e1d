// SPDX-License-Identifier: MIT
// The recording that hmmctl-viewer-test shows.
#pragma once

#include "trace_file.hpp"

#include <string>
#include <vector>

/// An event, and its name in a viewer.
struct named_event {
    hmmrt_event event;
    std::string name;
};

struct viewed_recording {
    hmmctl::trace_header header;
    std::vector<hmmctl::observed_process> processes;
    std::vector<named_event> events; ///< in the order of their ends
};

/// Returns a recording with everything that a viewer shows: lanes of two devices that serve each
/// other's faults, migrations that overlap on a link, nested events that begin or end with their
/// parents, events without a process, and an event that began before the recording.
viewed_recording recording_for_a_viewer();

void write_recording(const viewed_recording& recorded, const std::string& path);
