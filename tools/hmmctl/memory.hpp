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

/// A process with what there is to know about its memory.
struct looked_at {
    process of;
    std::vector<mapping> mappings;
    std::unique_ptr<memory_queries> queries;
};

/// Throws failure if the process has no space, if this user may not trace it, or if it has ended.
looked_at look_at_memory(pid_t pid);

/// Returns a note for standard error about mappings that went away, "" if none did.
std::string changed_note(std::size_t count);

/// Returns the location as text for JSON, null for HMMRT_LOCATION_NONE.
json location_json(std::uint32_t location);

/// Returns `host` or `device N` for each processor of a mask.
std::vector<std::string> processors_in(std::uint32_t mask);

/// Returns the advice in words, as `read-mostly, preferred device 0`; "" for none.
std::string advice_text(const range_advice& advice);

json to_json(const memory_range& range);
/// Has a column for each of @devices, and for others with pages in a range.
std::string text_of(const std::vector<memory_range>& ranges, std::vector<std::uint32_t> devices);

output list_ranges(pid_t pid, bool as_json);
/// Draws for a terminal with that many columns, or for this one if @columns is 0. Without @all it
/// leaves out mappings of files that are in system memory alone.
output show_residency(pid_t pid, bool all, std::size_t columns, bool as_json);

} // namespace hmmctl
