// SPDX-License-Identifier: MIT
// Profiles and recordings of events, and fields of their JSON.
#pragma once

#include "hmmctl_events.hpp"
#include "hmmctl_failure.hpp"

#include "json_schema.hpp"
#include "summary_text.hpp"
#include "trace_export.hpp"

#include <map>
#include <vector>

/// Events of the tested process, with what a report says about them.
struct profiled {
    explicit profiled(const std::vector<hmmrt_event>& events = {}) { sums.add(events); }
    hmmctl::summary_of what() const { return {header, sums, processes, dropped}; }

    hmmctl::trace_header header;
    hmmctl::summary sums;
    std::map<std::uint64_t, hmmctl::observed_process> processes = {
        {tested_space, {tested_space, tested_pid, "name", {}}}};
    hmmctl::event_drops dropped = {};
};

/// A recording in another format.
inline std::string exported(void (*as)(const hmmctl::trace&, const hmmctl::text_sink&),
                            const hmmctl::trace& of) {
    std::string text;
    as(of, [&](std::string_view piece) { text += piece; });
    return text;
}

/// Succeeds if an object has these fields with these values, which are not null. It may have other
/// fields.
inline testing::AssertionResult has_fields(const hmmctl::json& object, const char* fields) {
    hmmctl::json changed = object;
    changed.merge_patch(hmmctl::json::parse(fields));
    if (changed == object) return testing::AssertionSuccess();
    return testing::AssertionFailure() << object << "\nis not\n" << changed;
}
