// SPDX-License-Identifier: MIT
#include "json.hpp"

namespace hmmctl {

json to_json(const hmmrt_device_info& device) {
    return {
        {"id", device.device_id},
        {"name", name_of(device)},
        {"memory_bytes", device.out_memory_bytes},
        {"used_bytes", device.out_used_bytes},
        {"free_bytes", device.out_memory_bytes - device.out_used_bytes},
        {"backed_bytes", device.out_backed_bytes},
        {"numa_node", device.out_numa_node},
        {"coherent", (device.out_properties & HMMRT_PROPERTY_COHERENT) != 0},
        {"native_atomics", (device.out_properties & HMMRT_PROPERTY_NATIVE_ATOMICS) != 0},
        {"evictions", device.out_evictions},
        {"evictions_ahead", device.out_evictions_ahead},
        {"chunk_bytes", device.out_chunk_bytes},
        {"free_chunks", device.out_free_chunks},
        {"partial_chunks", device.out_partial_chunks},
        {"full_chunks", device.out_full_chunks},
        {"split_chunks", device.out_split_chunks},
        {"merged_chunks", device.out_merged_chunks},
    };
}

json to_json(const hmmrt_knob& knob) {
    return {
        {"value", knob.out_value},
        {"min", knob.out_min},
        {"max", knob.out_max},
        {"default", knob.out_default},
    };
}

json to_json(const process& of) {
    json devices = json::array();
    // our own names come last and take precedence: a later module may have a counter of that name
    for (const bound_device& device : of.mirrored.devices) {
        json one = json::object();
        for (const auto& [name, value] : device.counted)
            one[name] = value;
        one["id"] = device.id;
        one["binding"] = device.binding;
        one["used_bytes"] = device.used_bytes;
        if (device.faults_per_second) one["faults_per_second"] = *device.faults_per_second;
        devices.push_back(std::move(one));
    }
    json result = json::object();
    for (const auto& [name, value] : of.mirrored.counted)
        result[name] = value;
    result["pid"] = of.pid;
    result["uid"] = of.uid;
    result["name"] = of.name;
    result["space"] = of.mirrored.id;
    result["used_bytes"] = of.mirrored.used_bytes();
    result["devices"] = std::move(devices);
    return result;
}

json to_json(const diagnosis& result) {
    json checks = json::array();
    for (const check& one : result.checks)
        checks.push_back({{"name", one.name},
                          {"result", word_for(one.result)},
                          {"found", one.found},
                          {"advice", one.advice}});
    return {
        {"good", result.is_good()},
        {"transparent_access", result.transparent_access},
        {"checks", std::move(checks)},
    };
}

std::string json_text(const json& answer) {
    json whole = {{"schema", json_schema}};
    whole.update(answer);
    // escape everything but ASCII: process names may be any bytes, and must not control a terminal
    return whole.dump(2, ' ', true, json::error_handler_t::replace) + "\n";
}

std::string one_line(const json& object) {
    return object.dump(-1, ' ', true, json::error_handler_t::replace);
}

std::string json_line(const char* field, json value) {
    json answer = {{"schema", json_schema}};
    answer[field] = std::move(value);
    return one_line(answer) + "\n";
}

std::string json_text(const char* field, json value) {
    json answer;
    answer[field] = std::move(value);
    return json_text(answer);
}

} // namespace hmmctl
