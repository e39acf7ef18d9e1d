// SPDX-License-Identifier: MIT
#include "stats.hpp"

#include "failure.hpp"
#include "intervals.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hmmctl {
namespace {

/// The counters that this version's module has for a space, and for each of its devices.
constexpr const char* names_of_space[] = {"migrated_to_host", "cpu_faults", "invalidations",
                                          "blocks"};
constexpr const char* names_on_device[] = {
    "used_bytes",       "device_faults",      "failed_faults",    "mapped_pages",
    "remote_pages",     "migrated_to_device", "retries",          "copied_pages",
    "evictions",        "evicted_pages",      "thrashing_faults", "fault_batches",
    "merged_faults",    "flushed_faults",     "replays",          "pending_faults",
    "thrashing_blocks", "throttled_faults",   "thrash_pins",      "thrash_unpins",
    "counted_moves",    "quota_refusals",     "memory_refusals",  "thrashing_resets",
};

device_stats& device_in(stats& of, std::uint32_t id) {
    const auto place = std::lower_bound(
        of.devices.begin(), of.devices.end(), id,
        [](const device_stats& one, std::uint32_t wanted) { return one.id < wanted; });
    if (place != of.devices.end() && place->id == id) return *place;
    device_stats added;
    added.id = id;
    for (const char* name : names_on_device)
        added.of_processes.emplace_back(name, 0);
    return *of.devices.insert(place, std::move(added));
}

void add(counters& sums, const std::string& name, std::uint64_t value) {
    const auto found = std::find_if(sums.begin(), sums.end(),
                                    [&](const auto& counter) { return counter.first == name; });
    if (found == sums.end())
        sums.emplace_back(name, value);
    else
        found->second += value;
}

void add(stats& sums, const space& of) {
    for (const auto& [name, value] : of.counted)
        add(sums.of_processes, name, value);
    for (const bound_device& device : of.devices) {
        counters& on_device = device_in(sums, device.id).of_processes;
        add(on_device, "used_bytes", device.used_bytes);
        for (const auto& [name, value] : device.counted)
            add(on_device, name, value);
    }
}

counters counters_of(const hmmrt_device_info& device) {
    return {
        {"used_bytes", device.out_used_bytes},
        {"free_bytes", device.out_memory_bytes - device.out_used_bytes},
        {"backed_bytes", device.out_backed_bytes},
        {"evictions", device.out_evictions},
        {"evictions_ahead", device.out_evictions_ahead},
        {"free_chunks", device.out_free_chunks},
        {"partial_chunks", device.out_partial_chunks},
        {"full_chunks", device.out_full_chunks},
        {"split_chunks", device.out_split_chunks},
        {"merged_chunks", device.out_merged_chunks},
    };
}

counters counters_before(const stats_sample* earlier, std::uint32_t id) {
    if (earlier != nullptr)
        for (const hmmrt_device_info& device : earlier->devices)
            if (device.device_id == id) return counters_of(device);
    return {};
}

json json_of(const counters& all) {
    json object = json::object();
    for (const auto& [name, value] : all)
        object[name] = value;
    return object;
}

std::optional<std::uint64_t> value_in(const counters& all, const std::string& name) {
    for (const auto& [known, value] : all)
        if (known == name) return value;
    return std::nullopt;
}

/// Device ids and the devices' counters.
using device_columns = std::vector<std::pair<std::uint32_t, const counters*>>;

/// Returns the names of all counters, in their order.
std::vector<std::string> names_in(const counters& whole, const device_columns& devices) {
    std::vector<std::string> names;
    const auto add_names = [&](const counters& from) {
        for (const auto& [name, value] : from)
            if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    add_names(whole);
    for (const auto& [id, of] : devices)
        add_names(*of);
    return names;
}

/// Returns a table with a row for each counter, a column for each device, and a column for the sum,
/// or for counters that don't belong to a device.
std::string table_of(const counters& whole, const device_columns& devices, bool leaves_out_zeros) {
    std::vector<table::column> columns = {{"COUNTER"}, {"ALL", true}};
    for (const auto& [id, of] : devices)
        columns.push_back({fmt::format("DEVICE {}", id), true});
    table rows(std::move(columns));
    for (const std::string& name : names_in(whole, devices)) {
        std::uint64_t sum = value_of(whole, name);
        std::vector<std::string> row = {printable(name), ""};
        for (const auto& [id, of] : devices) {
            const auto value = value_in(*of, name);
            sum += value.value_or(0);
            row.push_back(value ? std::to_string(*value) : "-");
        }
        row[1] = std::to_string(sum);
        if (sum != 0 || !leaves_out_zeros) rows.add(std::move(row));
    }
    return rows.text();
}

std::string title_of(const stats& of, pid_t pid, std::optional<double> seconds) {
    std::string title =
        pid != 0 ? fmt::format("Process {}", pid)
                 : fmt::format("{} {}", of.processes, of.processes == 1 ? "process" : "processes");
    if (of.unreadable != 0)
        title += fmt::format(", and {} without permission to inspect them", of.unreadable);
    if (seconds) title += fmt::format(", in {:.2f} seconds", *seconds);
    return title + '\n';
}

stats_sample sample_of(pid_t pid) {
    if (pid != 0) return {{{find_process(pid)}, 0}, {}};
    return {scan_processes(), manager().devices()};
}

} // namespace

stats stats_between(const stats_sample* earlier, const stats_sample& now) {
    stats sums;
    sums.processes = now.scan.processes.size();
    sums.unreadable = now.scan.unreadable;
    for (const char* name : names_of_space)
        sums.of_processes.emplace_back(name, 0);
    for (const process& of : now.scan.processes)
        add(sums, counted_since(of.mirrored,
                                earlier ? space_in(earlier->scan, of.mirrored.id) : nullptr));
    for (const hmmrt_device_info& device : now.devices)
        device_in(sums, device.device_id).own =
            counted_since(counters_of(device), counters_before(earlier, device.device_id));
    return sums;
}

void select_counters(stats& of, const std::vector<std::string>& parts) {
    if (parts.empty()) return;
    std::vector<bool> found(parts.size());
    const auto is_left_out = [&](const auto& counter) {
        bool matches = false;
        for (std::size_t i = 0; i < parts.size(); i++)
            if (counter.first.find(parts[i]) != std::string::npos) matches = found[i] = true;
        return !matches;
    };
    std::erase_if(of.of_processes, is_left_out);
    for (device_stats& device : of.devices) {
        std::erase_if(device.of_processes, is_left_out);
        if (device.own) std::erase_if(*device.own, is_left_out);
    }
    for (std::size_t i = 0; i < parts.size(); i++)
        if (!found[i]) throw failure(fmt::format("no counter name contains {}", parts[i]));
}

json to_json(const stats& of, pid_t pid, std::optional<double> seconds) {
    json devices = json::array();
    for (const device_stats& device : of.devices)
        devices.push_back({{"id", device.id},
                           {"counters", json_of(device.of_processes)},
                           {"device", device.own ? json_of(*device.own) : json()}});
    return {{"pid", pid != 0 ? json(pid) : json()},
            {"seconds", seconds ? json(*seconds) : json()},
            {"processes", of.processes},
            {"unreadable_processes", of.unreadable},
            {"counters", json_of(of.of_processes)},
            {"devices", std::move(devices)}};
}

std::string text_of(const stats& of, pid_t pid, std::optional<double> seconds) {
    device_columns of_processes, own;
    for (const device_stats& device : of.devices) {
        of_processes.emplace_back(device.id, &device.of_processes);
        if (device.own) own.emplace_back(device.id, &*device.own);
    }
    const bool leaves_out_zeros = seconds.has_value();
    std::string text =
        title_of(of, pid, seconds) + table_of(of.of_processes, of_processes, leaves_out_zeros);
    if (!own.empty()) text += "\nDevice counters\n" + table_of({}, own, leaves_out_zeros);
    return text;
}

output show_stats(const stats_request& wanted, bool as_json) {
    const auto sample = [&] { return sample_of(wanted.pid); };
    stats ever = stats_between(nullptr, sample());
    select_counters(ever, wanted.parts);
    if (wanted.interval <= 0)
        return {as_json ? json_text("stats", to_json(ever, wanted.pid, std::nullopt))
                        : text_of(ever, wanted.pid, std::nullopt),
                "", 0};
    const char* between = "";
    const auto show = [&](const stats_sample& earlier, const stats_sample& now, double seconds) {
        stats changed = stats_between(&earlier, now);
        select_counters(changed, wanted.parts);
        if (as_json) {
            print_now(json_line("stats", to_json(changed, wanted.pid, seconds)));
            return;
        }
        print_now(between + text_of(changed, wanted.pid, seconds));
        between = "\n";
    };
    each_interval(wanted.interval, wanted.count, sample, show);
    return {};
}

} // namespace hmmctl
