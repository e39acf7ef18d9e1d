// SPDX-License-Identifier: MIT
// The JSON schema that is installed with hmmctl accepts what hmmctl prints, and nothing else.
#include "bench_fixture.hpp"
#include "hmmctl_report.hpp"

#include "bench.hpp"
#include "commands.hpp"
#include "event_names.hpp"
#include "memory.hpp"
#include "stats.hpp"

using namespace hmmctl;

namespace {

using plain_json = nlohmann::json;

plain_json parsed(const output& of) {
    return plain_json::parse(of.text);
}

/// A value for each counter that the schema requires for a process, or for a device of a process.
counters counters_in(const char* definition) {
    counters all;
    for (const auto& name : hmmctl_schema()["definitions"][definition]["required"])
        if (name != "id" && name != "binding" && name != "used_bytes" &&
            hmmctl_schema()["definitions"][definition]["properties"][name] ==
                plain_json{{"$ref", "#/definitions/count"}})
            all.emplace_back(name, all.size());
    return all;
}

process full_process() {
    process of;
    of.pid = tested_pid;
    of.uid = 1000;
    of.name = "a\xff";
    of.mirrored.id = tested_space;
    of.mirrored.counted = counters_in("process");
    of.mirrored.counted.emplace_back("counter_of_a_later_module", 1);
    bound_device device;
    device.counted = counters_in("binding");
    device.faults_per_second = 0.5;
    of.mirrored.devices = {device, device};
    of.mirrored.devices[1].id = 1;
    of.mirrored.devices[1].faults_per_second.reset();
    return of;
}

hmmrt_device_info full_device() {
    hmmrt_device_info device = {};
    device.out_numa_node = -1;
    device.out_memory_bytes = 2 * page;
    device.out_used_bytes = page;
    return device;
}

plain_json device_answer() {
    plain_json device = to_json(full_device());
    device["knobs"] = {{"oversubscription", to_json(hmmrt_knob())}};
    return {{"schema", json_schema}, {"device", std::move(device)}};
}

plain_json stats_answer() {
    const stats_sample sample = {{{full_process()}, 1}, {full_device()}};
    return plain_json::parse(json_line("stats", to_json(stats_between(nullptr, sample), 0, 1.5)));
}

plain_json range_answer() {
    memory_range range{0, page, "[heap]", {}, {}};
    range.advice.preferred = 0;
    range.advice.accessed_by = HMMRT_BY_CPU | 1;
    range.advice.granularity = 65536;
    range.pages.at[1] = 1;
    return plain_json::parse(json_text({{"pid", 1},
                                        {"page_bytes", page},
                                        {"ranges", json::array({to_json(range)})},
                                        {"changed_mappings", 0}}));
}

/// An event of each type, with each name that it can have.
std::vector<hmmrt_event> all_events() {
    std::vector<hmmrt_event> events;
    for (std::uint16_t type = 1; type < HMMRT_EVENT_TYPES; type++)
        for (std::uint16_t number = 0; number < 20; number++) {
            hmmrt_event event = event_of(static_cast<hmmrt_event_type>(type));
            event.reason = event.cause = number;
            event.from = HMMRT_LOCATION_HOST;
            event.to = HMMRT_LOCATION_HOST_NODE(3);
            event.device = number % HMMRT_MAX_DEVICES;
            event.access = number % 8;
            event.error = -14;
            event.devices = 3;
            event.parent = event.duration = event.addr = event.pages = event.ip = event.count =
                event.groups = 1;
            event.phase[0] = number;
            events.push_back(event);
        }
    events.push_back(event_of(static_cast<hmmrt_event_type>(HMMRT_EVENT_TYPES)));
    events.push_back(annotation(HMMRT_EVENT_MARK, "here"));
    return events;
}

plain_json exported_events(const std::vector<hmmrt_event>& events) {
    trace of;
    of.header.page_size = page;
    of.header.command = {"program", "argument"};
    of.header.devices = {{0, "gpu0", 1 << 20}};
    of.processes[tested_space] = {tested_space, tested_pid, "name", {}};
    of.events = events;
    return plain_json::parse(exported(export_json, of));
}

/// A profile with names, a section, code, and memory that moves back and forth between a device and
/// the CPU.
plain_json full_profile() {
    std::vector<hmmrt_event> events = {name_of_memory(0, 512, "grid"),
                                       event_of(HMMRT_EVENT_EVICTION)};
    for (unsigned i = 0; i < 20; i++) {
        hmmrt_event cpu = event_of(HMMRT_EVENT_CPU_FAULT);
        cpu.ip = 0x20;
        events.insert(events.end(), {device_fault(0, 0, 0x10), migration(HMMRT_LOCATION_HOST, 0, 1),
                                     cpu, migration(0, HMMRT_LOCATION_HOST, 1)});
    }
    events.push_back(annotation(HMMRT_EVENT_SECTION, "step"));
    profiled of(events);
    of.header.page_size = page;
    of.header.command = {"program"};
    of.header.devices = {{0, "gpu0", 1 << 20}};
    plain_json profile = to_json(of.what());
    profile["allocations"] = {{{"space", 1},
                               {"pid", 1},
                               {"device_faults", 1},
                               {"cpu_faults", 1},
                               {"nanoseconds", 1},
                               {"count", 1},
                               {"bytes", 1},
                               {"calls", {{{"function", "f"}, {"place", "a.cpp:1"}}}}}};
    return profile;
}

plain_json report_answer() {
    plain_json report = full_profile();
    report["complete"] = true;
    return {{"schema", json_schema}, {"report", std::move(report)}};
}

plain_json answer_with(const char* field, const json& value) {
    return plain_json::parse(json_text(field, value));
}

struct example {
    const char* command;
    plain_json answer;
};

/// An output of each command, with a value for each field.
const std::vector<example>& examples() {
    static const std::vector<example> all = {
        {"device_list", answer_with("devices", json::array({to_json(full_device())}))},
        {"device_show", device_answer()},
        {"process_list",
         plain_json::parse(json_text({{"processes", json::array({to_json(full_process())})},
                                      {"unreadable_processes", 2}}))},
        {"process_show", answer_with("process", to_json(full_process()))},
        {"stats", stats_answer()},
        {"range_list", range_answer()},
        {"residency", plain_json::parse(R"({
            "schema": 1, "pid": 1, "page_bytes": 4096, "changed_mappings": 0,
            "regions": [{"start": 0, "end": 4096, "bytes": 4096, "name": "",
                         "runs": [{"start": 0, "pages": 1, "place": "device 0"}]}],
            "pages": {"device 0": 1}})")},
        {"profile", answer_with("profile", full_profile())},
        {"trace_report", report_answer()},
        {"trace_export", exported_events({device_fault(0, 0, 0x10), all_events().front()})},
        {"bench", answer_with("bench", to_json(scaled_result()))},
        {"bench_compare",
         answer_with("comparison", to_json(compare(scaled_result(), scaled_result())))},
        {"bench_list", parsed(list_bench(true))},
        {"replay", plain_json::parse(R"({
            "schema": 1, "replay": {
                "prices": {"name": "guest", "unit": "instructions", "source": "a guest"}, "seed": 1,
                "runs": [{"trace": "triad", "footprint": 1.5, "device_memory": 2097152, "pages": 768,
                          "bound": {"misses": 765, "cost": 1.5},
                          "results": [{"policy": "by-use", "faults": 1, "cpu_faults": 0,
                                       "pages_in": 2, "pages_out": 0, "evictions": 0,
                                       "pages_remote": 3, "local_accesses": 4, "remote_accesses": 5,
                                       "visits": 6, "remote_visits": 7, "looks": 0, "exchanges": 0,
                                       "naps": 0, "pins": 0,
                                       "cost": {"total": 1.5, "faults": 1, "moves": 0.5,
                                                "accesses": 0, "looks": 0}}]}]}})")},
        {"replay_list", plain_json::parse(R"({
            "schema": 1, "policies": [{"name": "by-use", "description": "the default"}],
            "prices": [{"name": "guest", "unit": "instructions", "source": "a guest"}]})")},
        {"doctor", parsed(run_doctor(true))},
    };
    return all;
}

std::string wrong_in(const example& of, const plain_json& answer) {
    return what_is_wrong_with(answer, std::string("answer_of_") + of.command);
}

TEST(HmmctlSchema, TakesTheAnswerOfEachCommand) {
    const json_validator whole(hmmctl_schema());
    for (const example& of : examples()) {
        EXPECT_EQ(wrong_in(of, of.answer), "") << of.command;
        EXPECT_EQ(whole.what_is_wrong_with(of.answer), "") << of.command;
    }
    EXPECT_EQ(hmmctl_schema()["oneOf"].size(), examples().size());
    EXPECT_EQ(wrong_in({"process_list", {}}, parsed(list_processes(0, true))), "");
}

/// Calls @check with each value in @in, and its place.
template <class Check>
void for_each_value(const plain_json& in, const plain_json::json_pointer& at, const Check& check) {
    check(at, in);
    if (!in.is_structured()) return;
    for (const auto& [key, value] : in.items())
        for_each_value(value, in.is_array() ? at / std::stoul(key) : at / key, check);
}

TEST(HmmctlSchema, RefusesEachValueOfAnotherKind) {
    const plain_json nonsense = {{{"Frob!", true}}};
    for (const example& of : examples())
        for_each_value(
            of.answer, plain_json::json_pointer(), [&](const auto& at, const plain_json& value) {
                EXPECT_FALSE(value.is_array() && value.empty()) << of.command << at << " has none";
                plain_json wrong = of.answer;
                wrong[at] = nonsense;
                EXPECT_NE(wrong_in(of, wrong), "") << of.command << " " << at;
                wrong[at] = value;
                if (value.is_object()) wrong[at]["Frob!"] = 1;
                if (value.is_array()) wrong[at].push_back(nonsense);
                if (value.is_structured()) {
                    EXPECT_NE(wrong_in(of, wrong), "") << of.command << at;
                }
                if (value.is_number()) {
                    wrong[at] = -2;
                    const std::string field = at.back();
                    EXPECT_EQ(wrong_in(of, wrong) == "", field == "error") << of.command << at;
                }
            });
}

TEST(HmmctlSchema, RefusesAnswersOfOtherCommands) {
    const json_validator whole(hmmctl_schema());
    for (const example& of : examples()) {
        for (const example& other : examples())
            if (of.command != other.command) {
                EXPECT_NE(wrong_in(of, other.answer), "") << of.command << other.command;
            }
        plain_json later = of.answer;
        later["schema"] = json_schema + 1;
        EXPECT_NE(whole.what_is_wrong_with(later), "") << of.command;
    }
}

/// Fields that may be missing, by the definition of their object.
bool may_be_missing(const plain_json::json_pointer& at) {
    const std::string text = at.to_string(), field = at.back();
    return field == "faults_per_second" || field == "counter_of_a_later_module" ||
           text == "/device/knobs/oversubscription" || text == "/pages/device 0" ||
           text.find("/counters/") != std::string::npos ||
           text.find("/counts/") != std::string::npos ||
           (text.starts_with("/stats/") && text.find("/device/") != std::string::npos) ||
           (text.starts_with("/events/") && field != "type" && field != "serial" &&
            field != "time" && text.find("/phases/") == std::string::npos);
}

TEST(HmmctlSchema, RefusesAnswersWithoutAField) {
    for (const example& of : examples())
        for_each_value(
            of.answer, plain_json::json_pointer(), [&](const auto& at, const plain_json&) {
                if (at.empty() || !of.answer[at.parent_pointer()].is_object()) return;
                plain_json wrong = of.answer;
                wrong[at.parent_pointer()].erase(at.back());
                EXPECT_EQ(wrong_in(of, wrong) == "", may_be_missing(at)) << of.command << at;
            });
}

TEST(HmmctlSchema, HasTheNamesInEvents) {
    plain_json answer = exported_events(all_events());
    EXPECT_EQ(what_is_wrong_with(answer, "answer_of_trace_export"), "");
    const auto refused = [&](const plain_json& changes) {
        plain_json event = exported_events({device_fault(0, 0)})["events"][0];
        event.update(changes);
        EXPECT_NE(what_is_wrong_with(event, "event"), "") << event;
    };
    refused({{"type", "frob"}});
    refused({{"type", "thrashing"}});
    refused({{"type", "map"}});
    refused({{"reason", "detected"}});
    refused({{"cause", "none"}});
    refused({{"access", "wr"}});
    refused({{"from", "none"}});
    refused({{"to", "device"}});
    refused({{"device", HMMRT_MAX_DEVICES}});
}

TEST(HmmctlSchema, HasTheNamesOfBenchmarks) {
    const plain_json& all = hmmctl_schema()["definitions"];
    EXPECT_EQ(all["pattern"]["enum"], names_of(bench_patterns()));
    EXPECT_EQ(all["transfer"]["enum"], names_of(bench_transfers()));
    EXPECT_EQ(all["peer_name"]["enum"], names_of(bench_peers()));
    EXPECT_EQ(all["page_kind"]["enum"], names_of(bench_pages()));
    EXPECT_EQ(all["scaled_by"]["enum"], names_of(bench_scalings()));
}

TEST(HmmctlSchema, HasNoDefinitionThatNothingUses) {
    const std::string text = hmmctl_schema().dump();
    for (const auto& [name, definition] : hmmctl_schema()["definitions"].items())
        EXPECT_NE(text.find("\"#/definitions/" + name + "\""), std::string::npos) << name;
}

} // namespace
