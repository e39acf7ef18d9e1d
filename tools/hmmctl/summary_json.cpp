// SPDX-License-Identifier: MIT
#include "advice_text.hpp"
#include "allocation_sites.hpp"
#include "event_names.hpp"
#include "summary_text.hpp"

namespace hmmctl {
namespace {

json to_json(const tally& of, std::uint32_t page_size) {
    return {{"count", of.count},
            {"bytes", of.pages * page_size},
            {"min_bytes", of.min_pages * page_size},
            {"max_bytes", of.max_pages * page_size},
            {"nanoseconds", of.nanoseconds}};
}

json to_json(const phase_times& phases) {
    json times = json::object();
    for (std::size_t i = 0; i < phases.size(); i++)
        times[phase_name(i)] = phases[i];
    return times;
}

json to_json(const device_summary& of, std::uint32_t page_size) {
    const auto all = [&](const tally& one) { return to_json(one, page_size); };
    return {{"host_to_device", all(of.host_to_device)},
            {"device_to_host", all(of.device_to_host)},
            {"device_to_device", all(of.device_to_device)},
            {"evicted", all(of.evicted)},
            {"evictions", all(of.evictions)},
            {"fault_batches", all(of.batches)},
            {"device_faults", all(of.faults)},
            {"failed_faults", all(of.failed_faults)},
            {"answered_faults", all(of.answered_faults)},
            {"replays", all(of.replays)},
            {"throttles", all(of.throttles)},
            {"maps", all(of.maps)},
            {"remote_maps", all(of.remote_maps)},
            {"duplicates", all(of.duplicates)},
            {"dropped_duplicates", all(of.dropped_duplicates)},
            {"refusals", all(of.refusals)},
            {"thrashing_blocks", of.thrashing[HMMRT_EVENT_THRASHING_DETECTED]},
            {"thrash_pins", of.thrashing[HMMRT_EVENT_THRASHING_PINNED]},
            {"thrash_unpins", of.thrashing[HMMRT_EVENT_THRASHING_RELEASED]},
            {"thrashing_resets", of.thrashing[HMMRT_EVENT_THRASHING_RESET]},
            {"phases", to_json(of.phases)}};
}

json devices_json(const summary_of& what) {
    json devices = json::array();
    for (const auto& [id, sums] : what.sums.devices()) {
        json device = {{"id", nullptr}, {"name", nullptr}};
        if (is_device(id)) device["id"] = id;
        for (const trace_device& known : what.header.devices)
            if (known.id == id) device["name"] = known.name;
        device.update(to_json(sums, what.header.page_size));
        devices.push_back(std::move(device));
    }
    return devices;
}

json place_json(const summary_of& what, const summary::place& at, const touches& of) {
    return {{"space", at.space},
            {"pid", what.process_of(at.space).pid},
            {"addr", at.addr},
            {"device_faults", of.device_faults},
            {"cpu_faults", of.cpu_faults},
            {"nanoseconds", of.nanoseconds}};
}

json code_json(const summary_of& what, const summary::hot& hottest) {
    json code = json::array();
    const std::vector<symbol> names = what.names_of(hottest);
    for (std::size_t i = 0; i < hottest.size(); i++) {
        json one = place_json(what, hottest[i].first, hottest[i].second);
        one["function"] = names[i].function;
        one["place"] = names[i].place;
        add_memory(
            one, what, hottest[i].first.space,
            what.sums.annotations().memory_of_code(hottest[i].first.space, hottest[i].first.addr));
        code.push_back(std::move(one));
    }
    return code;
}

json annotation_json(const summary_of& what, const annotation_key& key) {
    return {{"space", key.space}, {"pid", what.process_of(key.space).pid}, {"name", key.text}};
}

json names_json(const summary_of& what) {
    json names = json::array();
    for (const auto& [key, of] : what.sums.annotations().hottest_names(places_listed)) {
        json one = annotation_json(what, key);
        one["device_faults"] = of.device_faults;
        one["cpu_faults"] = of.cpu_faults;
        one["nanoseconds"] = of.nanoseconds;
        names.push_back(std::move(one));
    }
    return names;
}

json sections_json(const summary_of& what) {
    json sections = json::array();
    for (const auto& [key, of] : what.sums.annotations().longest_sections(places_listed)) {
        json one = annotation_json(what, key);
        one["count"] = of.count;
        one["nanoseconds"] = of.nanoseconds;
        one["device_faults"] = of.device_faults;
        sections.push_back(std::move(one));
    }
    return sections;
}

json types_json(const summary_of& what) {
    json types = json::object();
    for (std::size_t type = 1; type < HMMRT_EVENT_TYPES; type++)
        types[type_name(type)] = {{"recorded", what.sums.types()[type]},
                                  {"dropped", what.dropped[type]}};
    return types;
}

} // namespace

json to_json(const summary_of& what) {
    json blocks = json::array();
    for (const auto& [at, of] : what.sums.hottest_blocks(places_listed))
        blocks.push_back(place_json(what, at, of));
    json result = {{"page_bytes", what.header.page_size}, {"command", what.header.command},
                   {"events", what.sums.events()},        {"dropped_events", sum_of(what.dropped)},
                   {"types", types_json(what)},           {"devices", devices_json(what)}};
    result["cpu_faults"] = to_json(what.sums.cpu_faults(), what.header.page_size);
    result["cpu_faults"]["phases"] = to_json(what.sums.cpu_phases());
    result["invalidations"] = what.sums.types()[HMMRT_EVENT_INVALIDATE];
    result["sections"] = sections_json(what);
    result["names"] = names_json(what);
    result["allocations"] = allocations_json(what);
    result["dropped_allocations"] = what.dropped_allocations;
    result["blocks"] = std::move(blocks);
    result["code"] = code_json(what, what.sums.hottest_code(places_listed));
    result["cpu_code"] = code_json(what, what.sums.hottest_cpu_code(places_listed));
    result["suggestions"] = advice_json(what);
    return result;
}

} // namespace hmmctl
