// SPDX-License-Identifier: MIT
// The commands about the memory of one process.
#pragma once

#include "commands.hpp"
#include "json.hpp"
#include "ranges.hpp"

#include <memory>
#include <string>
#include <vector>

namespace hmmctl {

/// A process and what we need to examine its memory.
struct looked_at {
    process of;
    std::vector<tools::mapping> mappings;
    std::unique_ptr<memory_queries> queries;
};

/// Throws failure if the process has no space, if we may not trace it, or if it has ended.
looked_at look_at_memory(pid_t pid);

/// Returns a note for standard error about mappings that disappeared, "" if none did.
std::string changed_note(std::size_t count);

/// Returns the location's name as JSON, null for HMMRT_LOCATION_NONE.
json location_json(std::uint32_t location);

/// Returns `host` or `device N` for each processor of a mask.
std::vector<std::string> processors_in(std::uint32_t mask);

/// Returns the advice as text, like `read-mostly, preferred device 0`; "" for none.
std::string advice_text(const range_advice& advice);

json to_json(const memory_range& range);
/// Returns a table with columns for @devices and for all other devices with pages in a range.
std::string text_of(const std::vector<memory_range>& ranges, std::vector<std::uint32_t> devices);

output list_ranges(pid_t pid, bool as_json);
/// Draws a map that is @columns wide, or as wide as this terminal if @columns is 0. Without @all,
/// leaves out file mappings that are only in system memory.
output show_residency(pid_t pid, bool all, std::size_t columns, bool as_json);

} // namespace hmmctl
