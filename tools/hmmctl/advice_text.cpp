// SPDX-License-Identifier: MIT
#include "advice_text.hpp"

#include "allocation_sites.hpp"
#include "event_names.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

namespace hmmctl {
namespace {

std::string processor_name(std::uint32_t processor) {
    return is_device(processor) ? location_name(processor) : "the CPU";
}

/// Joins names as `a, b and c`.
std::string list_of(const std::vector<std::string>& names) {
    std::string list;
    for (std::size_t i = 0; i < names.size(); i++) {
        if (i != 0) list += i + 1 == names.size() ? " and " : ", ";
        list += names[i];
    }
    return list;
}

std::string processors_of(const advice& what) {
    std::vector<std::string> names;
    for (const auto& [id, faults] : what.faults)
        names.push_back(processor_name(id));
    return list_of(names);
}

std::string faults_text(std::uint64_t number) {
    return fmt::format("{} fault{}", number, number == 1 ? "" : "s");
}

std::uint64_t faults_of(const advice& what) {
    std::uint64_t sum = 0;
    for (const auto& [id, faults] : what.faults)
        sum += faults;
    return sum;
}

std::string read_by_several_text(const advice& what) {
    std::string text = fmt::format("its pages go back and forth between {}, and all faults were "
                                   "reads. If nothing writes to it, let each device keep a "
                                   "duplicate",
                                   processors_of(what));
    if (what.other)
        text += ". If something does, keep it in system memory (a store after a load of the same "
                "page causes no fault and is not recorded)";
    return text;
}

std::string cause_text(const advice& what) {
    const std::string to = processor_name(what.call.location);
    const char* const when =
        is_device(what.call.location) ? "before the launch" : "before the CPU uses it";
    switch (what.kind) {
    case advice_kind::read_by_several:
        return read_by_several_text(what);
    case advice_kind::ping_pong:
        return fmt::format("ping-pongs between {}. Keep it in system memory", processors_of(what));
    case advice_kind::oversubscription:
        return fmt::format("was evicted from {} and migrated back, and has fewer faults than other "
                           "evicted memory. Keep it in system memory",
                           what.other ? processor_name(what.other->location) : "a device");
    case advice_kind::sequential_faults:
        return fmt::format("was migrated to {} by one fault after another, in address order. "
                           "Prefetch it {}",
                           to, when);
    case advice_kind::fault_latency:
        return fmt::format("was migrated to {} by faults that spent more time waiting than "
                           "copying. Prefetch it {}",
                           to, when);
    }
    return "";
}

const char* name_of(advised_call call) {
    switch (call) {
    case advised_call::read_mostly:
        return "hmmMemAdviseSetReadMostly";
    case advised_call::preferred_location:
        return "hmmMemAdviseSetPreferredLocation";
    case advised_call::accessed_by:
        return "hmmMemAdviseSetAccessedBy";
    case advised_call::prefetch:
        break;
    }
    return "";
}

memory_sizes sizes_of(const trace_header& header) {
    memory_sizes sizes;
    for (const trace_device& device : header.devices)
        sizes[device.id] = device.memory_bytes;
    return sizes;
}

/// Returns a line with the place and function of a symbol, "" if it is empty.
std::string code_text(const char* processor, const symbol& name) {
    if (name.place.empty()) return "";
    return fmt::format("     Most {} faults are at {}{}\n", processor, printable(name.place),
                       name.function.empty() ? "" : fmt::format(" ({})", printable(name.function)));
}

known_memory memory_of(const summary_of& about, const advice& what) {
    return about.sums.annotations().memory_of_blocks(what.space, what.addr, what.bytes);
}

json to_json(const summary_of& about, const advice& what, const symbol& name,
             const symbol& cpu_name) {
    json faults = json::array();
    for (const auto& [id, number] : what.faults) {
        json one = {{"device", nullptr}, {"faults", number}};
        if (is_device(id)) one["device"] = id;
        faults.push_back(std::move(one));
    }
    json result = {{"kind", kind_name(what.kind)},
                   {"space", what.space},
                   {"pid", about.process_of(what.space).pid},
                   {"addr", what.addr},
                   {"bytes", what.bytes},
                   {"faults", std::move(faults)},
                   {"saved_faults", what.saved_faults},
                   {"sentence", sentence_of(what)},
                   {"call", call_of(what, what.call)},
                   {"other_call", nullptr},
                   {"function", name.function},
                   {"place", name.place},
                   {"cpu_function", cpu_name.function},
                   {"cpu_place", cpu_name.place}};
    add_memory(result, about, what.space, memory_of(about, what));
    if (what.other) result["other_call"] = call_of(what, *what.other);
    return result;
}

} // namespace

std::string kind_name(advice_kind kind) {
    switch (kind) {
    case advice_kind::read_by_several:
        return "read_by_several";
    case advice_kind::ping_pong:
        return "ping_pong";
    case advice_kind::oversubscription:
        return "oversubscription";
    case advice_kind::sequential_faults:
        return "sequential_faults";
    case advice_kind::fault_latency:
        return "fault_latency";
    }
    return "";
}

std::string sentence_of(const advice& what) {
    const std::string memory = fmt::format("{} at {:#x}", size_text(what.bytes), what.addr);
    return fmt::format("{}{} {}: that saves about {} of {}.", memory,
                       what.kind == advice_kind::read_by_several ? ":" : "", cause_text(what),
                       what.saved_faults, faults_text(faults_of(what)));
}

std::string call_of(const advice& what, const call_to_make& call) {
    const std::string range =
        fmt::format("reinterpret_cast<void*>({:#x}), {}", what.addr, what.bytes);
    const std::string location =
        is_device(call.location) ? std::to_string(call.location) : "hmmCpuDeviceId";
    if (call.call == advised_call::prefetch)
        return fmt::format("hmmMemPrefetchAsync({}, {});", range, location);
    return fmt::format("hmmMemAdvise({}, {}, {});", range, name_of(call.call), location);
}

listed_advice listed_advice_for(const summary_of& what) {
    listed_advice listed;
    listed.all = advice_for(what.sums.by_block(), sizes_of(what.header));
    if (listed.all.size() > most_advice) {
        listed.left_out = listed.all.size() - most_advice;
        listed.all.resize(most_advice);
    }
    summary::hot code;
    for (const advice& one : listed.all)
        for (const std::uint64_t ip : {one.ip, one.cpu_ip})
            code.push_back({{one.space, ip}, {}});
    const std::vector<symbol> names = what.names_of(code);
    for (std::size_t i = 0; i < listed.all.size(); i++) {
        listed.names.push_back(listed.all[i].ip == 0 ? symbol() : names[2 * i]);
        listed.cpu_names.push_back(listed.all[i].cpu_ip == 0 ? symbol() : names[2 * i + 1]);
    }
    return listed;
}

std::string advice_text(const summary_of& what) {
    const listed_advice listed = listed_advice_for(what);
    if (listed.all.empty()) return "";
    std::string text = "\nSuggestions\n";
    for (std::size_t i = 0; i < listed.all.size(); i++) {
        const advice& one = listed.all[i];
        text +=
            fmt::format("  {}. Process {}: {}\n       {}\n", i + 1, what.process_of(one.space).pid,
                        sentence_of(one), call_of(one, one.call));
        if (one.other) text += fmt::format("     or\n       {}\n", call_of(one, *one.other));
        if (const std::string memory = memory_text(what, one.space, memory_of(what, one));
            !memory.empty())
            text += fmt::format("     Most faults are on {}\n", memory);
        text += code_text("device", listed.names[i]) + code_text("CPU", listed.cpu_names[i]);
    }
    if (listed.left_out != 0) text += fmt::format("  {} more\n", listed.left_out);
    return text;
}

json advice_json(const summary_of& what) {
    const listed_advice listed = listed_advice_for(what);
    json all = json::array();
    for (std::size_t i = 0; i < listed.all.size(); i++)
        all.push_back(to_json(what, listed.all[i], listed.names[i], listed.cpu_names[i]));
    return all;
}

} // namespace hmmctl
