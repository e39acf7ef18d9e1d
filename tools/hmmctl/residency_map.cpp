// SPDX-License-Identifier: MIT
#include "event_names.hpp"
#include "memory.hpp"
#include "residency.hpp"

#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace hmmctl {
namespace {

/// Returns the terminal's width, or a default if standard output isn't a terminal.
std::size_t terminal_columns() {
    winsize size = {};
    const bool is_known = isatty(STDOUT_FILENO) != 0 &&
                          ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    return is_known ? size.ws_col : map_style().columns;
}

/// Many programs honour NO_COLOR, whatever its value is.
bool may_have_colours() {
    const char* refused = std::getenv("NO_COLOR");
    return isatty(STDOUT_FILENO) != 0 && (!refused || *refused == '\0');
}

std::string json_name_of(page_place where) {
    if (is_device(where)) return location_name(where);
    switch (where) {
    case in_system_memory:
        return location_name(HMMRT_LOCATION_HOST);
    case duplicated:
        return "duplicated";
    case exclusive:
        return "exclusive";
    default:
        return "untouched";
    }
}

json to_json(const region& of) {
    json runs = json::array();
    for (const run& one : of.runs)
        runs.push_back(
            {{"start", one.start}, {"pages", one.pages}, {"place", json_name_of(one.where)}});
    return {{"start", of.start},
            {"end", of.end},
            {"bytes", of.end - of.start},
            {"name", of.name},
            {"runs", std::move(runs)}};
}

json to_json(const residency_scan& scan) {
    json regions = json::array(), pages = json::object();
    for (const region& of : scan.regions)
        regions.push_back(to_json(of));
    const auto counted = pages_by_place(scan.regions);
    for (page_place where = 0; where < places; where++)
        if (counted[where] != 0) pages[json_name_of(where)] = counted[where];
    return {{"page_bytes", page_bytes},
            {"regions", std::move(regions)},
            {"pages", std::move(pages)},
            {"changed_mappings", scan.changed}};
}

} // namespace

output show_residency(pid_t pid, bool all, std::size_t columns, bool as_json) {
    const looked_at process = look_at_memory(pid);
    const residency_scan scan = scan_residency(*process.queries, process.mappings, all);
    const std::string note = changed_note(scan.changed);
    if (as_json) {
        json answer = {{"pid", pid}};
        answer.update(to_json(scan));
        return {json_text(answer), note, 0};
    }
    map_style style;
    style.columns = columns != 0 ? columns : terminal_columns();
    style.has_colours = may_have_colours();
    return {draw(scan.regions, style), note, 0};
}

} // namespace hmmctl
