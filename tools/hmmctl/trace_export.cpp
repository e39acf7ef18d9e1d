// SPDX-License-Identifier: MIT
#include "trace_export.hpp"

#include "annotations.hpp"
#include "event_names.hpp"
#include "json.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <bitset>

namespace hmmctl {
namespace {

json devices_json(std::uint32_t mask) {
    const std::bitset<32> bits(mask);
    json ids = json::array();
    for (std::size_t id = 0; id < bits.size(); id++)
        if (bits[id]) ids.push_back(id);
    return ids;
}

/// Quotes a CSV field. It can't contain line breaks.
std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char letter : printable(text))
        result += letter == '"' ? std::string("\"\"") : std::string(1, letter);
    return result + '"';
}

/// Omits members that are 0 or none, which is how an event has those that its type doesn't use.
json event_json(const hmmrt_event& event) {
    json one = {{"type", type_name(event.type)}, {"serial", event.serial}, {"time", event.time}};
    const auto add = [&](const char* name, auto value) {
        if (value != 0) one[name] = value;
    };
    const auto add_location = [&](const char* name, std::uint32_t location) {
        if (location != HMMRT_LOCATION_NONE) one[name] = location_name(location);
    };
    const auto add_name = [&](const char* name, const std::string& text) {
        if (!text.empty()) one[name] = text;
    };
    add("parent", event.parent);
    add("duration", event.duration);
    add("space", event.space);
    add("pid", event.pid);
    add("tid", event.tid);
    add("addr", event.addr);
    add("pages", event.pages);
    add("ip", event.ip);
    if (event.cause != HMMRT_CAUSE_NONE) one["cause"] = cause_name(event.cause);
    add_name("reason", reason_name(event));
    add_name("access", access_name(event.access));
    if (is_device(event.device)) one["device"] = event.device;
    add_location("from", event.from);
    add_location("to", event.to);
    add("error", event.error);
    add("count", event.count);
    add("groups", event.groups);
    if (event.devices != 0) one["devices"] = devices_json(event.devices);
    add_name("text", text_of(event));
    if (!has_phases(event)) return one;
    json& phases = one["phases"] = json::object();
    for (std::size_t i = 0; i < HMMRT_EVENT_PHASES; i++)
        phases[phase_name(i)] = event.phase[i];
    return one;
}

json processes_json(const trace& of) {
    json list = json::array();
    for (const auto& [space, process] : of.processes)
        list.push_back({{"space", space}, {"pid", process.pid}, {"name", process.name}});
    return list;
}

json trace_json(const trace& of) {
    json devices = json::array();
    for (const trace_device& device : of.header.devices)
        devices.push_back(
            {{"id", device.id}, {"name", device.name}, {"memory_bytes", device.memory_bytes}});
    return {{"start", of.header.start},
            {"start_realtime", of.header.start_realtime},
            {"page_bytes", of.header.page_size},
            {"command", of.header.command},
            {"devices", std::move(devices)},
            {"processes", processes_json(of)},
            {"complete", of.end.has_value()},
            {"dropped_events", of.end ? sum_of(of.end->dropped) : 0}};
}

} // namespace

void export_json(const trace& of, const text_sink& out) {
    out(fmt::format("{{\"schema\": {},\n\"trace\": {},\n\"events\": [", json_schema,
                    one_line(trace_json(of))));
    const char* between = "\n";
    for (const hmmrt_event& event : of.events) {
        out(between + one_line(event_json(event)));
        between = ",\n";
    }
    out("\n]}\n");
}

void export_csv(const trace& of, const text_sink& out) {
    std::string titles = "serial,parent,time,duration,type,space,pid,tid,addr,pages,ip,cause,"
                         "reason,access,device,from,to,error,count,groups,devices";
    for (std::size_t i = 0; i < HMMRT_EVENT_PHASES; i++)
        titles += ',' + phase_name(i);
    out(titles + ",text\n");
    for (const hmmrt_event& event : of.events) {
        std::string line = fmt::format(
            "{},{},{},{},{},{},{},{},{:#x},{},{:#x},{},{},{},{},{},{},{},{},{},{:#x}", event.serial,
            event.parent, event.time, event.duration, type_name(event.type), event.space, event.pid,
            event.tid, event.addr, event.pages, event.ip, cause_name(event.cause),
            reason_name(event), access_name(event.access), location_name(event.device),
            location_name(event.from), location_name(event.to), event.error, event.count,
            event.groups, event.devices);
        for (const std::uint32_t nanoseconds : event.phase)
            line += fmt::format(",{}", nanoseconds);
        out(line + ',' + (event.text[0] ? quoted(text_of(event)) : "") + '\n');
    }
}

} // namespace hmmctl
