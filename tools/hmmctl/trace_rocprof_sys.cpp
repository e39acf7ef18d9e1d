// SPDX-License-Identifier: MIT
#include "event_names.hpp"
#include "trace_export.hpp"

#include <fmt/format.h>

namespace hmmctl {
namespace {

double ratio(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Bytes per nanosecond equal GB per second.
json direction_json(const tally& of, std::uint32_t page_size) {
    const std::uint64_t bytes = of.pages * page_size;
    return {{"count", of.count},
            {"avg_size_bytes", ratio(bytes, of.count)},
            {"min_size_bytes", of.min_pages * page_size},
            {"max_size_bytes", of.max_pages * page_size},
            {"total_size_bytes", bytes},
            {"total_time_ns", of.nanoseconds},
            {"migration_throughput_gbps", ratio(bytes, of.nanoseconds)}};
}

std::string name_of_device(const trace_header& header, std::uint32_t id) {
    for (const trace_device& known : header.devices)
        if (known.id == id) return known.name;
    return fmt::format("GPU {}", id);
}

} // namespace

void rocprof_sys_summary::add(std::span<const hmmrt_event> events) {
    for (const hmmrt_event& event : events) {
        if (event.type == HMMRT_EVENT_DEVICE_FAULT) page_faults_++;
        if (event.type == HMMRT_EVENT_MIGRATION) add_migration(event);
    }
}

void rocprof_sys_summary::add_migration(const hmmrt_event& event) {
    if (is_device(event.from))
        (is_device(event.to) ? devices_[event.from].device_to_device
                             : devices_[event.from].device_to_host)
            .add(event);
    else if (is_device(event.to))
        devices_[event.to].host_to_device.add(event);
    switch (event.cause) {
    case HMMRT_CAUSE_DEVICE_FAULT:
        causes_.gpu_page_fault++;
        return;
    case HMMRT_CAUSE_CPU_FAULT:
        causes_.cpu_page_fault++;
        return;
    case HMMRT_CAUSE_PREFETCH:
        causes_.prefetch++;
        return;
    case HMMRT_CAUSE_EVICTION:
        causes_.ttm_eviction++;
        return;
    default:
        causes_.unknown++;
        return;
    }
}

json rocprof_sys_summary::devices_json(const trace_header& header) const {
    json devices = json::array();
    for (const auto& [id, of] : devices_) {
        const auto all = [&](const tally& one) { return direction_json(one, header.page_size); };
        json migrations = {{"host_to_device", all(of.host_to_device)},
                           {"device_to_host", all(of.device_to_host)},
                           {"device_to_device", all(of.device_to_device)}};
        devices.push_back({{"device_id", id},
                           {"device_name", name_of_device(header, id)},
                           {"migrations", std::move(migrations)}});
    }
    return devices;
}

std::string rocprof_sys_summary::text_of(const trace_header& header) const {
    json triggers = {{"gpu_page_fault", causes_.gpu_page_fault},
                     {"cpu_page_fault", causes_.cpu_page_fault},
                     {"prefetch", causes_.prefetch},
                     {"ttm_eviction", causes_.ttm_eviction},
                     {"unknown", causes_.unknown}};
    const json whole = {{"devices", devices_json(header)},
                        {"summary",
                         {{"total_page_faults", page_faults_},
                          {"xnack_enabled", true}, // hmmrt's devices always retry faulting accesses
                          {"migration_triggers", std::move(triggers)}}}};
    return one_line(whole) + "\n";
}

void export_rocprof_sys(const trace& of, const text_sink& out) {
    rocprof_sys_summary sums;
    sums.add(of.events);
    out(sums.text_of(of.header));
}

} // namespace hmmctl
