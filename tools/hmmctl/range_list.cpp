// SPDX-License-Identifier: MIT
#include "event_names.hpp"
#include "failure.hpp"
#include "lib/files.hpp"
#include "memory.hpp"
#include "table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>

namespace hmmctl {
namespace {

json advice_json(const range_advice& advice) {
    return {
        {"read_mostly", (advice.flags & HMMRT_RANGE_READ_MOSTLY) != 0},
        {"no_migrate", (advice.flags & HMMRT_RANGE_NO_MIGRATE) != 0},
        {"preferred_location", location_json(advice.preferred)},
        {"accessed_by", processors_in(advice.accessed_by)},
        {"granularity", advice.granularity == 0 ? json() : json(advice.granularity)},
        {"last_prefetch", location_json(advice.last_prefetch)},
    };
}

json pages_json(const page_counts& pages) {
    json devices = json::array();
    std::uint64_t total = 0;
    for (const std::uint64_t count : pages.at)
        total += count;
    for (std::uint32_t id = 0; id < HMMRT_MAX_DEVICES; id++)
        if (pages.at[id] + pages.duplicates[id] + pages.mapped[id] != 0)
            devices.push_back({{"id", id},
                               {"pages", pages.at[id]},
                               {"duplicates", pages.duplicates[id]},
                               {"mapped", pages.mapped[id]}});
    return {
        {"total", total},
        {"host", pages.at[in_system_memory] + pages.at[duplicated] + pages.at[exclusive]},
        {"duplicated", pages.at[duplicated]},
        {"exclusive", pages.at[exclusive]},
        {"untouched", pages.at[untouched]},
        {"devices", std::move(devices)},
    };
}

/// Adds the devices that have pages in a range.
void add_devices(std::vector<std::uint32_t>& devices, const std::vector<memory_range>& ranges) {
    for (std::uint32_t id = 0; id < HMMRT_MAX_DEVICES; id++)
        if (std::any_of(ranges.begin(), ranges.end(),
                        [&](const memory_range& range) { return range.pages.at[id] != 0; }))
            devices.push_back(id);
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
}

} // namespace

looked_at look_at_memory(pid_t pid) {
    process of = find_process(pid);
    auto queries = std::make_unique<space_memory>(open_file(of.file, "inspect"), pid);
    const std::string folder = fmt::format("/proc/{}/", pid);
    auto text = tools::read_file(folder + "smaps");
    // kernels without CONFIG_PROC_PAGE_MONITOR don't have smaps
    if (!text && errno == ENOENT) text = tools::read_file(folder + "maps");
    if (!text && errno == ENOENT) throw failure(fmt::format("process {} has exited", pid));
    if (!text)
        throw failure(
            fmt::format("cannot read the mappings of process {}: {}", pid, std::strerror(errno)));
    return {std::move(of), tools::parse_mappings(*text), std::move(queries)};
}

std::string changed_note(std::size_t count) {
    if (count == 0) return "";
    return fmt::format("hmmctl: {} changed during the scan and {} left out\n",
                       count == 1 ? "1 mapping" : fmt::format("{} mappings", count),
                       count == 1 ? "is" : "are");
}

json location_json(std::uint32_t location) {
    return location == HMMRT_LOCATION_NONE ? json() : json(location_name(location));
}

std::vector<std::string> processors_in(std::uint32_t mask) {
    std::vector<std::string> found;
    if ((mask & HMMRT_BY_CPU) != 0) found.emplace_back(location_name(HMMRT_LOCATION_HOST));
    for (std::uint32_t id = 0; id < HMMRT_MAX_DEVICES; id++)
        if ((mask >> id & 1) != 0) found.push_back(location_name(id));
    return found;
}

std::string advice_text(const range_advice& advice) {
    std::vector<std::string> words;
    if ((advice.flags & HMMRT_RANGE_READ_MOSTLY) != 0) words.emplace_back("read-mostly");
    if ((advice.flags & HMMRT_RANGE_NO_MIGRATE) != 0) words.emplace_back("no-migrate");
    if (advice.preferred != HMMRT_LOCATION_NONE)
        words.push_back("preferred " + location_name(advice.preferred));
    for (const std::string& processor : processors_in(advice.accessed_by))
        words.push_back("accessed by " + processor);
    if (advice.granularity != 0) words.push_back("granularity " + size_text(advice.granularity));
    if (advice.last_prefetch != HMMRT_LOCATION_NONE)
        words.push_back("prefetched to " + location_name(advice.last_prefetch));
    return fmt::format("{}", fmt::join(words, ", "));
}

json to_json(const memory_range& range) {
    return {
        {"start", range.start},
        {"end", range.end},
        {"bytes", range.end - range.start},
        {"name", range.name},
        {"advice", advice_json(range.advice)},
        {"pages", pages_json(range.pages)},
    };
}

std::string text_of(const std::vector<memory_range>& ranges, std::vector<std::uint32_t> devices) {
    add_devices(devices, ranges);
    std::vector<table::column> columns = {{"RANGE"}, {"SIZE", true}, {"HOST", true}};
    for (const std::uint32_t id : devices)
        columns.push_back({fmt::format("DEVICE {}", id), true});
    for (const char* title : {"DUPLICATED", "UNTOUCHED"})
        columns.push_back({title, true});
    columns.push_back({"MAPPING"});
    columns.push_back({"ADVICE"});
    table rows(std::move(columns));
    for (const memory_range& range : ranges) {
        const auto& at = range.pages.at;
        std::vector<std::string> row = {
            fmt::format("{:x}-{:x}", range.start, range.end), size_text(range.end - range.start),
            std::to_string(at[in_system_memory] + at[duplicated] + at[exclusive])};
        for (const std::uint32_t id : devices)
            row.push_back(std::to_string(at[id]));
        row.push_back(std::to_string(at[duplicated]));
        row.push_back(std::to_string(at[untouched]));
        row.push_back(range.name.empty() ? "-" : printable(range.name));
        const std::string advice = advice_text(range.advice);
        row.push_back(advice.empty() ? "-" : advice);
        rows.add(std::move(row));
    }
    return rows.text();
}

output list_ranges(pid_t pid, bool as_json) {
    const looked_at process = look_at_memory(pid);
    const range_scan scan = scan_ranges(*process.queries, process.mappings);
    const std::string note = changed_note(scan.changed);
    if (as_json) {
        json list = json::array();
        for (const memory_range& range : scan.ranges)
            list.push_back(to_json(range));
        const json answer = {{"pid", pid},
                             {"page_bytes", page_bytes},
                             {"ranges", std::move(list)},
                             {"changed_mappings", scan.changed}};
        return {json_text(answer), note, 0};
    }
    std::vector<std::uint32_t> devices;
    for (const bound_device& device : process.of.mirrored.devices)
        devices.push_back(device.id);
    return {text_of(scan.ranges, std::move(devices)), note, 0};
}

} // namespace hmmctl
