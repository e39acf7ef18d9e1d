// SPDX-License-Identifier: MIT
// The unified memory summary of AMD's ROCm Systems Profiler. docs/hmmctl.md explains the fields.
#pragma once

#include "json.hpp"
#include "summary.hpp"
#include "trace_file.hpp"

#include <linux/hmmrt_event.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace hmmctl {

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
