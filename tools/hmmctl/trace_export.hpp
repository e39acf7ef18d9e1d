// SPDX-License-Identifier: MIT
// Exports traces to the formats of other programs.
#pragma once

#include "json.hpp"
#include "summary.hpp"
#include "trace_file.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
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
/// The unified memory summary of AMD's ROCm Systems Profiler.
void export_rocprof_sys(const trace& of, const text_sink& out);

/// What that summary counts, for events as they arrive. docs/hmmctl.md explains the fields.
class rocprof_sys_summary {
  public:
    void add(std::span<const hmmrt_event> events);
    /// Returns the complete file. @header has the device names and the page size.
    std::string text_of(const trace_header& header) const;

  private:
    struct directions {
        tally host_to_device, device_to_host;
        tally device_to_device; ///< from this device
    };
    /// Migrations by cause.
    struct causes {
        std::uint64_t gpu_page_fault = 0, cpu_page_fault = 0, prefetch = 0, ttm_eviction = 0,
                      unknown = 0;
    };

    void add_migration(const hmmrt_event& event);
    json devices_json(const trace_header& header) const;

    std::map<std::uint32_t, directions> devices_; ///< by id
    causes causes_;
    std::uint64_t page_faults_ = 0;
};

} // namespace hmmctl
