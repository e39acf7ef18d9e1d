// SPDX-License-Identifier: MIT
// Accesses to memory in their order: what a simulation replays.
//
// A trace file has a first line `hmmrt-accesses 1`, a line `pages N`, and a line for each step.
// Empty lines, and what follows a #, don't count. Pages have 4 KiB and are numbered from 0; page 0
// begins a block of 2 MiB. At first all memory is populated, and in system memory.
//
//   absent FIRST [COUNT]
//       These pages don't exist. Such lines come before all others.
//   device read|write FIRST [COUNT [ACCESSES [LINES]]]
//       The device accesses COUNT pages (default: 1) one after another. Each time it makes ACCESSES
//       loads and stores (default: 64) in LINES different lines of 64 bytes (default: 64).
//   cpu read|write FIRST [COUNT]       The CPU accesses pages.
//   prefetch device|cpu FIRST [COUNT]  The program moves pages.
//   unmap FIRST [COUNT]                Memory goes. New memory may follow at the same place.
//   wait MICROSECONDS                  Nothing accesses memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace replay {

constexpr unsigned page_bytes = 4096, page_lines = 64, block_pages = 512;
constexpr std::uint64_t block_bytes = std::uint64_t{block_pages} * page_bytes;
/// 64 GiB of memory.
constexpr std::uint64_t most_pages = std::uint64_t{1} << 24;

/// The bound takes about 20 bytes for each.
constexpr std::uint64_t most_visits = std::uint64_t{1} << 28;

enum class step_kind : std::uint8_t {
    device_read,
    device_write,
    cpu_read,
    cpu_write,
    prefetch_device,
    prefetch_cpu,
    unmap,
    wait,
};

struct step {
    step_kind what = step_kind::device_read;
    std::uint8_t lines = page_lines; ///< in each page, from 1 to page_lines
    std::uint32_t first = 0;
    std::uint32_t count = 1; ///< pages; of a wait, microseconds
    std::uint32_t accesses = page_lines;

    bool operator==(const step&) const = default;
};

constexpr bool is_device(step_kind what) {
    return what <= step_kind::device_write;
}

struct trace {
    std::uint64_t pages = 0;
    std::vector<bool> absent = {}; ///< by page; empty if all exist
    std::vector<step> steps;

    /// Appends a step, or makes the last one longer if it goes on there.
    void add(const step& next);
    bool operator==(const trace&) const = default;
};

/// Throws hmmctl::failure, which names @from and the line, if the text isn't a trace.
trace parse_trace(std::string_view text, const std::string& from);
std::string text_of(const trace& of);

/// Reads a trace file, or a recording of `hmmctl trace record`, which recording.hpp describes.
/// Throws hmmctl::failure.
trace read_trace(const std::string& path);
void write_trace(const trace& of, const std::string& path);

} // namespace replay
