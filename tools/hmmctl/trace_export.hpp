// SPDX-License-Identifier: MIT
// Traces in the formats of other programs.
#pragma once

#include "trace_file.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace hmmctl {

/// Gets a text piece by piece, as a trace can be large.
using text_sink = std::function<void(std::string_view)>;

/// The trace event format of Chrome, which Perfetto reads.
void export_chrome(const trace& of, const text_sink& out);
/// One object with a list of events, with names for numbers.
void export_json(const trace& of, const text_sink& out);
/// A line for each event, below a line of titles.
void export_csv(const trace& of, const text_sink& out);
/// The summary of ROCm Systems Profiler.
void export_rocprof_sys(const trace& of, const text_sink& out);

} // namespace hmmctl
