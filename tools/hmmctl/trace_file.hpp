// SPDX-License-Identifier: MIT
// Files of recorded events. The first line is a JSON object:
//
//   format, version     "hmmrt-trace", 1
//   event_bytes         the size of an event
//   page_size           in bytes
//   start               nanoseconds of CLOCK_MONOTONIC, the clock of events
//   start_realtime      the same moment in nanoseconds of CLOCK_REALTIME
//   command             empty if there was none
//   devices             a list of objects with id, name and memory_bytes
//
// Parts follow without padding. Each has a kind (8 bytes, padded with NULs), the size of its
// contents in bytes (64 bits, little-endian) and its contents:
//
//   events    struct hmmrt_events, event_bytes each, in the order of the ring
//   process   a JSON object: space, pid, name, and code, a list of the executable mappings with
//             start, end, offset and path. A later part replaces an earlier one for the same space.
//             We write one with the first event of a process, and again for an instruction outside
//             of the known mappings.
//   allocs    allocation_records in the order of their ring, before any later events
//   end       a JSON object: end (nanoseconds of CLOCK_MONOTONIC), dropped (numbers of lost events
//             by type), dropped_allocations (number of lost records)
//
// Readers ignore unknown kinds, and the end of events that are longer than they expect. A file
// without an end part is from a recording that was killed. We refuse files with another beginning
// or version, files that end within a part, and impossible values.
#pragma once

#include "event_ring.hpp"
#include "symbols.hpp"

#include <allocation_ring.hpp>
#include <linux/hmmrt_event.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hmmctl {

struct trace_device {
    std::uint32_t id = 0;
    std::string name;
    std::uint64_t memory_bytes = 0;
};

/// What we know before the first event.
struct trace_header {
    std::uint32_t page_size = 4096;
    std::uint64_t start = 0;          ///< nanoseconds of CLOCK_MONOTONIC, the clock of events
    std::uint64_t start_realtime = 0; ///< the same moment in nanoseconds of CLOCK_REALTIME
    std::vector<trace_device> devices;
    std::vector<std::string> command; ///< empty for processes that were already running
};

/// Returns a header with the current time and devices.
trace_header header_of_now(std::vector<std::string> command);

/// What we know after the last event.
struct trace_end {
    std::uint64_t end = 0; ///< nanoseconds of CLOCK_MONOTONIC
    event_drops dropped = {};
    std::uint64_t dropped_allocations = 0;
};

struct trace {
    trace_header header;
    std::vector<hmmrt_event> events;                     ///< in the order of the ring
    std::map<std::uint64_t, observed_process> processes; ///< by space
    std::vector<allocation_record> allocations;          ///< in the order of their ring
    std::optional<trace_end> end;                        ///< missing if the recording was cut off
};

/// Writes a trace file. All functions throw failure on errors.
class trace_writer {
  public:
    trace_writer(std::string path, const trace_header& header);

    void add(std::span<const hmmrt_event> events);
    /// Replaces earlier information about the process's space.
    void add(const observed_process& process);
    void add(std::span<const allocation_record> records);
    void finish(const trace_end& end);

  private:
    void write(std::string_view bytes);
    void flush();
    void write_part(std::string_view kind, std::string_view contents);

    std::string path_;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// Reads a file. Throws failure if it isn't a trace, has an unknown version, or is damaged.
trace read_trace(const std::string& path);
trace parse_trace(std::string_view bytes);

} // namespace hmmctl
