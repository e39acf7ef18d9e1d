// SPDX-License-Identifier: MIT
#include "commands.hpp"

#include "devices.hpp"
#include "doctor.hpp"
#include "failure.hpp"
#include "intervals.hpp"
#include "json.hpp"
#include "processes.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <pwd.h>

namespace hmmctl {
namespace {

std::string user_name(uid_t uid) {
    const passwd* user = getpwuid(uid);
    return user ? printable(user->pw_name) : std::to_string(uid);
}

std::string yes_or_no(bool value) {
    return value ? "yes" : "no";
}

bool is_coherent(const hmmrt_device_info& device) {
    return (device.out_properties & HMMRT_PROPERTY_COHERENT) != 0;
}

/// The two columns of `show` commands: names and values.
class properties {
  public:
    void add(const std::string& name, const std::string& value) { rows_.add({name, value}); }
    void add(const std::string& name, std::uint64_t value) { add(name, std::to_string(value)); }
    void add_size(const std::string& name, std::uint64_t bytes) { add(name, size_text(bytes)); }
    std::string text() const { return rows_.text(); }

  private:
    table rows_{{{"PROPERTY"}, {"VALUE"}}};
};

std::string rate_text(const bound_device& device) {
    return device.faults_per_second ? fmt::format("{:.1f}", *device.faults_per_second) : "-";
}

void add_process(table& rows, const process& of) {
    const std::string pid = std::to_string(of.pid), user = user_name(of.uid);
    const std::string cpu_faults = std::to_string(value_of(of.mirrored.counted, "cpu_faults"));
    if (of.mirrored.devices.empty())
        rows.add({pid, user, "-", "-", "-", "-", "-", cpu_faults, printable(of.name)});
    for (const bound_device& device : of.mirrored.devices)
        rows.add({pid, user, std::to_string(device.id), size_text(device.used_bytes),
                  std::to_string(value_of(device.counted, "device_faults")), rate_text(device),
                  std::to_string(value_of(device.counted, "evicted_pages")), cpu_faults,
                  printable(of.name)});
}

std::string unreadable_note(std::size_t count) {
    if (count == 0) return "";
    return fmt::format("hmmctl: no permission to inspect {} {}\n", count,
                       count == 1 ? "process" : "processes");
}

void measure_rates(process_scan& now, const process_scan& earlier, double seconds) {
    for (process& of : now.processes) {
        if (const space* before = space_in(earlier, of.mirrored.id))
            set_fault_rates(of.mirrored, *before, seconds);
    }
}

} // namespace

output list_devices(bool as_json) {
    const std::vector<hmmrt_device_info> devices = manager().devices();
    if (as_json) {
        json list = json::array();
        for (const hmmrt_device_info& device : devices)
            list.push_back(to_json(device));
        return {json_text("devices", std::move(list)), "", 0};
    }
    table rows({{"ID", true},
                {"NAME"},
                {"MEMORY", true},
                {"USED", true},
                {"FREE", true},
                {"COHERENT"},
                {"NODE", true},
                {"EVICTIONS", true}});
    for (const hmmrt_device_info& device : devices)
        rows.add({std::to_string(device.device_id), name_of(device),
                  size_text(device.out_memory_bytes), size_text(device.out_used_bytes),
                  size_text(device.out_memory_bytes - device.out_used_bytes),
                  yes_or_no(is_coherent(device)), std::to_string(device.out_numa_node),
                  std::to_string(device.out_evictions)});
    return {rows.text(), "", 0};
}

output show_device(std::uint32_t id, bool as_json) {
    const manager modules;
    const auto device = modules.device(id);
    if (!device) throw failure(fmt::format("device {} does not exist", id));
    const std::vector<hmmrt_knob> knobs = modules.knobs(id);
    if (as_json) {
        json result = to_json(*device);
        json& values = result["knobs"] = json::object();
        for (const hmmrt_knob& knob : knobs)
            values[name_of(knob)] = to_json(knob);
        return {json_text("device", std::move(result)), "", 0};
    }
    properties shown;
    shown.add("id", device->device_id);
    shown.add("name", name_of(*device));
    shown.add_size("memory", device->out_memory_bytes);
    shown.add_size("used", device->out_used_bytes);
    shown.add_size("free", device->out_memory_bytes - device->out_used_bytes);
    shown.add_size("backed by host memory", device->out_backed_bytes);
    shown.add("NUMA node", std::to_string(device->out_numa_node));
    shown.add("coherent", yes_or_no(is_coherent(*device)));
    shown.add("native atomics",
              yes_or_no((device->out_properties & HMMRT_PROPERTY_NATIVE_ATOMICS) != 0));
    shown.add("evictions", device->out_evictions);
    shown.add("evictions ahead", device->out_evictions_ahead);
    shown.add("chunks", fmt::format("{} free, {} partial, {} full, of {}", device->out_free_chunks,
                                    device->out_partial_chunks, device->out_full_chunks,
                                    size_text(device->out_chunk_bytes)));
    table settings({{"KNOB"}, {"VALUE", true}, {"DEFAULT", true}, {"MIN", true}, {"MAX", true}});
    for (const hmmrt_knob& knob : knobs)
        settings.add({name_of(knob), std::to_string(knob.out_value),
                      std::to_string(knob.out_default), std::to_string(knob.out_min),
                      std::to_string(knob.out_max)});
    return {shown.text() + "\n" + settings.text(), "", 0};
}

output list_processes(double interval, bool as_json) {
    process_scan scan;
    const auto take = [] { return scan_processes(); };
    const auto measure = [&](const process_scan& earlier, process_scan& now, double seconds) {
        measure_rates(now, earlier, seconds);
        scan = now;
    };
    if (interval > 0)
        each_interval(interval, 1, take, measure);
    else
        scan = take();
    const std::string notes = unreadable_note(scan.unreadable);
    if (as_json) {
        json list = json::array();
        for (const process& of : scan.processes)
            list.push_back(to_json(of));
        const json answer = {{"processes", std::move(list)},
                             {"unreadable_processes", scan.unreadable}};
        return {json_text(answer), notes, 0};
    }
    table rows({{"PID", true},
                {"USER"},
                {"DEVICE", true},
                {"USED", true},
                {"FAULTS", true},
                {"FAULTS/S", true},
                {"EVICTED", true},
                {"CPU FAULTS", true},
                {"NAME"}});
    for (const process& of : scan.processes)
        add_process(rows, of);
    return {rows.text(), notes, 0};
}

output show_process(pid_t pid, double interval, bool as_json) {
    process found;
    const auto take = [pid] { return find_process(pid); };
    const auto measure = [&](const process& earlier, const process& now, double seconds) {
        found = now;
        set_fault_rates(found.mirrored, earlier.mirrored, seconds);
    };
    if (interval > 0)
        each_interval(interval, 1, take, measure);
    else
        found = take();
    if (as_json) return {json_text("process", to_json(found)), "", 0};
    properties shown;
    shown.add("pid", static_cast<std::uint64_t>(found.pid));
    shown.add("user", user_name(found.uid));
    shown.add("name", printable(found.name));
    shown.add("space", found.mirrored.id);
    shown.add_size("used on all devices", found.mirrored.used_bytes());
    for (const auto& [name, value] : found.mirrored.counted)
        shown.add(name, value);
    for (const bound_device& device : found.mirrored.devices) {
        const std::string start = fmt::format("device {} ", device.id);
        shown.add_size(start + "used", device.used_bytes);
        if (device.faults_per_second) shown.add(start + "faults per second", rate_text(device));
        for (const auto& [name, value] : device.counted)
            shown.add(start + name, value);
    }
    return {shown.text(), "", 0};
}

output run_doctor(bool as_json) {
    const diagnosis result = diagnose(facts_of_this_machine());
    const int status = result.is_good() ? 0 : 1;
    if (as_json) return {json_text("doctor", to_json(result)), "", status};
    table rows({{"CHECK"}, {"RESULT"}, {"FOUND"}});
    std::string advice;
    for (const check& one : result.checks) {
        rows.add({one.name, word_for(one.result), one.found});
        if (!one.advice.empty()) advice += fmt::format("{}: {}\n", one.name, one.advice);
    }
    return {rows.text() + (advice.empty() ? "" : "\nWhat to do:\n" + advice), "", status};
}

} // namespace hmmctl
