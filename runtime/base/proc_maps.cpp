// SPDX-License-Identifier: MIT
#include "base/proc_maps.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace hmmrt {
namespace {

std::string_view take_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line;
}

/// "begin-end perms ..."
template <class Range>
bool parse_range(std::string_view line, Range& out) {
    const char* const last = line.data() + line.size();
    const auto begin = std::from_chars(line.data(), last, out.begin, 16);
    if (begin.ec != std::errc() || begin.ptr == last || *begin.ptr != '-') return false;
    const auto end = std::from_chars(begin.ptr + 1, last, out.end, 16);
    return end.ec == std::errc() && out.begin < out.end;
}

} // namespace

kernel_maps find_kernel_maps(std::string_view proc_maps) {
    kernel_maps found;
    while (!proc_maps.empty()) {
        const std::string_view line = take_line(proc_maps);
        const bool vdso = line.ends_with(" [vdso]");
        const bool data = line.find(" [vvar") != std::string_view::npos && line.ends_with("]");
        special_map range;
        if ((!vdso && !data) || !parse_range(line, range)) continue;
        found.parts.push_back(range);
        if (vdso) found.vdso = range.begin;
    }
    // Data pages are useless without the vdso, relative to which the agent
    // places them.
    if (found.vdso == 0) found.parts.clear();
    return found;
}

std::vector<mapped_part> mappings_in(std::string_view proc_maps, std::uint64_t begin,
                                     std::uint64_t end) {
    std::vector<mapped_part> found;
    while (!proc_maps.empty()) {
        mapped_part part;
        if (!parse_range(take_line(proc_maps), part) || part.end <= begin) continue;
        if (part.begin >= end) break;
        found.push_back({std::max(part.begin, begin), std::min(part.end, end)});
        // a mapping may appear twice if it is merged while we read the file
        begin = found.back().end;
    }
    return found;
}

} // namespace hmmrt
