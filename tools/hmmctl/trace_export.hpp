// SPDX-License-Identifier: MIT
// Exports traces to the formats of other programs.
#pragma once

#include "trace_file.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace hmmctl {

/// Takes text piece by piece, because a trace can be large.
using text_sink = std::function<void(std::string_view)>;

/// Chrome's trace event format, which Perfetto reads.
void export_chrome(const trace& of, const text_sink& out);
/// An object with a list of events, with names instead of numbers.
void export_json(const trace& of, const text_sink& out);
/// A header line and a line for each event.
void export_csv(const trace& of, const text_sink& out);
/// The summary format of ROCm Systems Profiler.
void export_rocprof_sys(const trace& of, const text_sink& out);

} // namespace hmmctl
