// SPDX-License-Identifier: MIT
// Event files: written files can be read back, damaged files are refused, and other formats contain
// everything.
#include "hmmctl_report.hpp"

#include "observe.hpp"
#include "trace_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

using namespace hmmctl;

namespace {

namespace fs = std::filesystem;

std::vector<hmmrt_event> some_events() {
    hmmrt_event batch = event_of(HMMRT_EVENT_FAULT_BATCH);
    batch.device = 0;
    batch.time = 5000;
    batch.duration = 2000;
    batch.count = 2;
    hmmrt_event part = device_fault(0, 0x7f0000001000, 0x401234);
    part.parent = batch.serial;
    part.time = 6000;
    part.tid++;
    hmmrt_event invalidation = event_of(HMMRT_EVENT_INVALIDATE);
    invalidation.devices = 5;
    hmmrt_event eviction = event_of(HMMRT_EVENT_EVICTION);
    eviction.device = 1;
    eviction.pid = 0;
    return {part,
            batch,
            invalidation,
            eviction,
            migration(HMMRT_LOCATION_HOST, 0, 2, 10),
            migration(0, 1, 1, 10)};
}

class HmmctlTrace : public testing::Test {
  protected:
    HmmctlTrace() {
        std::string name = fs::temp_directory_path() / "hmmctl-XXXXXX";
        EXPECT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        path_ = folder_ / "trace";
        header_.start = 1000;
        header_.start_realtime = 1;
        header_.devices = {{0, "gpu0", 1 << 20}, {1, "gpu1", 2 << 20}};
        header_.command = {"name", "a\xff \"\n"};
        process_.space = tested_space;
        process_.pid = tested_pid;
        process_.name = "name";
        process_.code = {{0x401000, 0x402000, 0x1000, "/a path"}};
        events_ = some_events();
        allocations_[0].addr = 0x1000;
        allocations_[1].kind = allocation_kind::freed;
    }
    ~HmmctlTrace() override { fs::remove_all(folder_); }

    std::string written() const {
        trace_writer file(path_, header_);
        file.add(process_);
        file.add(std::span(events_).first(2));
        file.add(std::span(events_).subspan(2));
        file.add(std::span<const allocation_record>(allocations_));
        event_drops dropped = {};
        dropped[HMMRT_EVENT_MAP] = 9;
        file.finish({77, dropped, 3});
        return contents();
    }
    std::string contents() const {
        std::ifstream file(path_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    fs::path folder_;
    std::string path_;
    trace_header header_;
    observed_process process_;
    std::vector<hmmrt_event> events_;
    std::vector<allocation_record> allocations_ = std::vector<allocation_record>(2);
};

TEST_F(HmmctlTrace, IsReadAsItWasWritten) {
    written();
    const trace found = read_trace(path_);
    EXPECT_EQ(found.header.start, 1000u);
    EXPECT_EQ(found.header.page_size, 4096u);
    EXPECT_EQ(found.header.command, (std::vector<std::string>{"name", "a\xef\xbf\xbd \"\n"}));
    ASSERT_EQ(found.header.devices.size(), 2u);
    EXPECT_EQ(found.header.devices[1].name, "gpu1");
    ASSERT_EQ(found.events.size(), events_.size());
    EXPECT_EQ(std::memcmp(found.events.data(), events_.data(), std::span(events_).size_bytes()), 0);
    ASSERT_EQ(found.processes.size(), 1u);
    const observed_process& process = found.processes.at(tested_space);
    EXPECT_EQ(process.name, "name");
    ASSERT_EQ(process.code.size(), 1u);
    EXPECT_EQ(process.code[0].path, "/a path");
    EXPECT_EQ(process.code[0].offset, 0x1000u);
    ASSERT_TRUE(found.end);
    EXPECT_EQ(found.end->end, 77u);
    EXPECT_EQ(sum_of(found.end->dropped), 9u);
    EXPECT_EQ(found.end->dropped_allocations, 3u);
    EXPECT_EQ(found.allocations, allocations_);
}

TEST_F(HmmctlTrace, ReportWritesAPageBesideTheText) {
    written();
    const std::string text = report_trace(path_, false, "").text;
    path_ = folder_ / "page";
    EXPECT_EQ(report_trace(folder_ / "trace", false, path_).text, text);
    EXPECT_TRUE(mentions(contents(), {"<!DOCTYPE html>", "Unified memory profiling result:"}));
}

TEST_F(HmmctlTrace, ReportDoesNotReplaceTheRecordingByAPage) {
    const std::string before = written();
    const std::string why = failure_of([&] { report_trace(path_, false, path_); });
    EXPECT_TRUE(mentions(why, {path_, "in use", "--html", "different file"}));
    EXPECT_EQ(contents(), before);
}

TEST_F(HmmctlTrace, WithoutItsEndHasWhatWasRecorded) {
    {
        trace_writer file(path_, header_);
        file.add(events_);
        EXPECT_EQ(read_trace(path_).events.size(), events_.size()) << "while it is written";
    }
    EXPECT_FALSE(read_trace(path_).end);
}

/// A file that is truncated between parts is read as a shorter one; truncated elsewhere, it is
/// refused.
TEST_F(HmmctlTrace, CutOffAnywhereIsShorterOrRefused) {
    const std::string whole = written();
    unsigned readable = 0;
    for (std::size_t size = 0; size < whole.size(); size++) {
        const std::string why = failure_of([&] { parse_trace({whole.data(), size}); });
        if (why.empty())
            readable++;
        else
            EXPECT_TRUE(mentions(why, {"truncated"}) || mentions(why, {"not a trace"})) << why;
    }
    EXPECT_EQ(readable, 5u);
}

TEST_F(HmmctlTrace, WithAnyDamageIsReadOrRefused) {
    const std::string whole = written();
    std::mt19937 random(1);
    unsigned refused = 0;
    for (int round = 0; round < 20000; round++) {
        std::string damaged = whole;
        for (int i = 0; i < 3; i++)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        refused += !failure_of([&] { parse_trace(damaged); }).empty();
    }
    EXPECT_GT(refused, 1000u);
}

TEST_F(HmmctlTrace, WithWrongValuesIsRefused) {
    const std::string whole = written();
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string changed = whole;
        const std::size_t at = changed.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return failure_of([&] { parse_trace(changed.replace(at, from.size(), to)); });
    };
    EXPECT_TRUE(mentions(with("hmmrt-trace", "other-trace"), {"not a trace"}));
    EXPECT_TRUE(mentions(with("\"version\":1", "\"version\":2"), {"different version"}));
    EXPECT_TRUE(mentions(with("\"event_bytes\":192", "\"event_bytes\":0"), {"event size"}));
    EXPECT_TRUE(mentions(with("\"event_bytes\":192", "\"event_bytes\":128"), {"event size"}));
    EXPECT_TRUE(mentions(with("\"event_bytes\":192", "\"event_bytes\":200"), {"incomplete event"}));
    EXPECT_TRUE(mentions(with("\"page_size\":4096", "\"page_size\":4095"), {"page size"}));
    EXPECT_TRUE(mentions(with("\"page_size\":4096", "\"page_size\":\"x\""), {"corrupted"}));
    EXPECT_TRUE(mentions(with("\"start\":1000,", ""), {"corrupted"}));
    EXPECT_TRUE(mentions(with("\"offset\":4096", "\"offset\":null"), {"corrupted"}));
    EXPECT_EQ(with("events\0", "later-\0"), "") << "parts of later versions are left out";
    const std::string cut("allocs\0\0\1\0\0\0\0\0\0\0x", 17);
    EXPECT_TRUE(mentions(failure_of([&] { parse_trace(whole + cut); }), {"incomplete allocation"}));
    const std::string lost = ",\"dropped_allocations\":3";
    EXPECT_EQ(with(lost, std::string(lost.size(), ' ')), "") << "earlier versions did not write it";
}

TEST_F(HmmctlTrace, OfOtherFilesIsRefused) {
    for (const char* text : {"", "\n", "{", "{}\n", "[]\n", "null\n", "{\"format\":1}\n"})
        EXPECT_TRUE(mentions(failure_of([&] { parse_trace(text); }), {"not a trace"})) << text;
    EXPECT_EQ(failure_of([&] { read_trace(folder_ / "none"); }),
              "cannot read " + (folder_ / "none").string() + ": No such file or directory");
    EXPECT_EQ(failure_of([&] { read_trace(folder_); }),
              "cannot read " + folder_.string() + ": Is a directory");
}

TEST_F(HmmctlTrace, ThatCannotBeWrittenIsAFailure) {
    EXPECT_NE(failure_of([&] { trace_writer(folder_ / "none/x", header_); }), "");
    EXPECT_EQ(failure_of([&] { trace_writer("/dev/full", header_); }),
              "cannot write /dev/full: No space left on device");
}

// --- other formats

TEST_F(HmmctlTrace, AsJsonHasNames) {
    const json found = json::parse(exported(export_json, parse_trace(written())));
    EXPECT_EQ(what_is_wrong_with(found, "answer_of_trace_export"), "");
    EXPECT_TRUE(
        has_fields(found, R"({"schema": 1, "trace": {"complete": true, "dropped_events": 9}})"));
    ASSERT_EQ(found["events"].size(), events_.size());
    const json& fault = found["events"][0];
    EXPECT_TRUE(has_fields(fault, R"({
        "type": "device_fault", "reason": "default", "access": "r", "phases": {"decide": 50}})"));
    EXPECT_FALSE(fault.contains("to"));
    EXPECT_EQ(found["events"][2]["devices"], (json{0, 2}));
    EXPECT_TRUE(has_fields(found["events"][4], R"({"from": "host", "to": "device 0"})"));
}

TEST_F(HmmctlTrace, AsCsvHasALineForEachEvent) {
    const std::string text = exported(export_csv, parse_trace(written()));
    std::istringstream lines(text);
    std::string line;
    std::vector<std::ptrdiff_t> commas;
    while (std::getline(lines, line))
        commas.push_back(std::count(line.begin(), line.end(), ','));
    EXPECT_EQ(commas, std::vector<std::ptrdiff_t>(events_.size() + 1, 28));
}

std::map<std::string, std::vector<json>> by_phase_in(const std::string& chrome_trace) {
    const json whole = json::parse(chrome_trace);
    std::map<std::string, std::vector<json>> found;
    for (const json& one : whole["traceEvents"])
        found[one["ph"]].push_back(one);
    return found;
}

TEST_F(HmmctlTrace, AsChromeTraceHasSlicesCountersAndArrows) {
    auto by_phase = by_phase_in(exported(export_chrome, parse_trace(written())));
    ASSERT_EQ(by_phase["X"].size(), 4u);
    EXPECT_EQ(by_phase["i"].size(), 2u);
    EXPECT_EQ(by_phase["X"][0]["name"], "fault_batch") << "the first that begins";
    const json& fault = by_phase["X"][1];
    EXPECT_EQ(fault["name"], "device_fault");
    EXPECT_EQ(fault["pid"], tested_pid);
    EXPECT_DOUBLE_EQ(fault["ts"], 4.3) << "6000 - 700 - 1000 ns";
    EXPECT_DOUBLE_EQ(fault["dur"], 0.7);
    ASSERT_EQ(by_phase["s"].size(), 1u);
    EXPECT_EQ(by_phase["s"][0]["id"], by_phase["f"][0]["id"]);
    EXPECT_DOUBLE_EQ(by_phase["s"][0]["ts"], 2.0) << "where the batch begins";
    EXPECT_DOUBLE_EQ(by_phase["f"][0]["ts"], 4.999) << "the last nanosecond of the fault";
    ASSERT_EQ(by_phase["b"].size(), 2u);
    ASSERT_EQ(by_phase["e"].size(), 2u);
    EXPECT_EQ(by_phase["b"][0]["name"], "host to device 0");
    EXPECT_EQ(by_phase["b"][0]["id"], by_phase["e"][0]["id"]);
    EXPECT_LT(by_phase["b"][0]["ts"], by_phase["e"][0]["ts"]);
    EXPECT_EQ(by_phase["b"][0]["args"]["bytes"], 8192);
    ASSERT_EQ(by_phase["C"].size(), 3u);
    EXPECT_EQ(by_phase["C"][0]["args"], (json{{"in", 8192}, {"out", 0}}));
    EXPECT_EQ(by_phase["C"][2]["args"], (json{{"in", 8192}, {"out", 4096}}));
    EXPECT_EQ(by_phase["M"].size(), 4u) << "a process, two devices, a lane";
}

TEST_F(HmmctlTrace, AsChromeTraceHasTheLongerOfSlicesThatBeginAtOnceFirst) {
    hmmrt_event inner = migration(HMMRT_LOCATION_HOST, 0, 1, 300), outer = device_fault(0, 0);
    inner.time = 5300;
    outer.time = 5700; // 700 long
    events_ = {inner, outer};
    const auto found = by_phase_in(exported(export_chrome, parse_trace(written())))["X"];
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0]["name"], "device_fault");
    EXPECT_EQ(found[1]["name"], "migration");
}

TEST_F(HmmctlTrace, AsChromeTraceCountsInTheOrderOfTime) {
    hmmrt_event late = migration(HMMRT_LOCATION_HOST, 0, 1), early = late;
    late.time = 3000;
    early.time = 2000;
    early.pages = 2;
    events_ = {late, early};
    const auto found = by_phase_in(exported(export_chrome, parse_trace(written())))["C"];
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0]["ts"], 1.0);
    EXPECT_EQ(found[0]["args"]["in"], 8192);
    EXPECT_EQ(found[1]["args"]["in"], 12288);
}

// ---- the summary for ROCm Systems Profiler: fields, types and values as that program writes them

constexpr std::uint32_t host = HMMRT_LOCATION_HOST;

/// The schema of an object with all these fields and no other.
nlohmann::json object_of(const nlohmann::json& fields) {
    std::vector<std::string> names;
    for (const auto& [name, schema] : fields.items())
        names.push_back(name);
    return {{"type", "object"},
            {"properties", fields},
            {"required", names},
            {"additionalProperties", false}};
}

/// All fields that the program writes.
nlohmann::json wanted_schema() {
    const nlohmann::json number = {{"type", "integer"}, {"minimum", 0}};
    const nlohmann::json real = {{"type", "number"}, {"minimum", 0}};
    const nlohmann::json text = {{"type", "string"}}, flag = {{"type", "boolean"}};
    const nlohmann::json direction = object_of({{"count", number},
                                                {"avg_size_bytes", real},
                                                {"min_size_bytes", number},
                                                {"max_size_bytes", number},
                                                {"total_size_bytes", number},
                                                {"total_time_ns", number},
                                                {"migration_throughput_gbps", real}});
    const nlohmann::json migrations = object_of({{"host_to_device", direction},
                                                 {"device_to_host", direction},
                                                 {"device_to_device", direction}});
    const nlohmann::json device =
        object_of({{"device_id", number}, {"device_name", text}, {"migrations", migrations}});
    const nlohmann::json triggers = object_of({{"gpu_page_fault", number},
                                               {"cpu_page_fault", number},
                                               {"prefetch", number},
                                               {"ttm_eviction", number},
                                               {"unknown", number}});
    const nlohmann::json summary = object_of(
        {{"total_page_faults", number}, {"xnack_enabled", flag}, {"migration_triggers", triggers}});
    const nlohmann::json devices = {{"type", "array"}, {"items", device}};
    return object_of({{"devices", devices}, {"summary", summary}});
}

/// Returns what is wrong with a file, or "".
std::string wrong_with_summary(const nlohmann::json& file) {
    static const json_validator wanted(wanted_schema());
    return wanted.what_is_wrong_with(file);
}

nlohmann::json summary_of_events(const std::vector<hmmrt_event>& events) {
    trace of;
    of.header.page_size = 4096;
    of.header.devices = {{0, "gpu0", 1 << 20}, {1, "g\xff", 2 << 20}};
    of.events = events;
    return nlohmann::json::parse(exported(export_rocprof_sys, of));
}

nlohmann::json some_summary() {
    return summary_of_events({
        migration(host, 0, 2, 1000, HMMRT_CAUSE_DEVICE_FAULT),
        migration(host, 0, 6, 3096, HMMRT_CAUSE_PREFETCH),
        migration(0, host, 1, 0, HMMRT_CAUSE_CPU_FAULT),
        migration(0, 1, 3, 100, HMMRT_CAUSE_DEVICE_FAULT),
        migration(1, host, 5, 7, HMMRT_CAUSE_EVICTION),
        migration(host, 9, 1, 1, HMMRT_CAUSE_ACCESS_COUNTER),
        device_fault(0, 0x1000),
        device_fault(1, 0x2000, 0, -14),
        event_of(HMMRT_EVENT_CPU_FAULT),
        event_of(HMMRT_EVENT_PREFETCH),
    });
}

TEST(HmmctlRocprofSys, HasTheFieldsOfThatProgram) {
    EXPECT_EQ(wrong_with_summary(some_summary()), "");
    EXPECT_EQ(wrong_with_summary(summary_of_events({})), "");
}

/// Tests wrong_with_summary() itself: it must not accept everything.
TEST(HmmctlRocprofSys, WithOtherFieldsIsFound) {
    const nlohmann::json good = some_summary();
    const nlohmann::json changes[] = {
        {{"op", "remove"}, {"path", "/summary"}},
        {{"op", "remove"}, {"path", "/summary/migration_triggers/ttm_eviction"}},
        {{"op", "remove"}, {"path", "/devices/1/migrations/device_to_device/total_time_ns"}},
        {{"op", "replace"}, {"path", "/summary/xnack_enabled"}, {"value", 1}},
        {{"op", "replace"}, {"path", "/summary/total_page_faults"}, {"value", 0.5}},
        {{"op", "replace"}, {"path", "/devices/0/device_id"}, {"value", "0"}},
        {{"op", "add"}, {"path", "/schema"}, {"value", 1}},
        {{"op", "add"}, {"path", "/devices/0/migrations/host_to_device/bytes"}, {"value", 1}},
    };
    for (const nlohmann::json& change : changes)
        EXPECT_NE(wrong_with_summary(good.patch(nlohmann::json::array({change}))), "") << change;
}

TEST(HmmctlRocprofSys, HasTheMigrationsOfEachDevice) {
    const nlohmann::json devices = some_summary()["devices"];
    ASSERT_EQ(devices.size(), 3u);
    EXPECT_TRUE(has_fields(devices[0], R"({
        "device_id": 0, "device_name": "gpu0", "migrations": {
            "host_to_device": {"count": 2, "avg_size_bytes": 16384, "min_size_bytes": 8192,
                               "max_size_bytes": 24576, "total_size_bytes": 32768,
                               "total_time_ns": 4096, "migration_throughput_gbps": 8},
            "device_to_host": {"total_size_bytes": 4096, "migration_throughput_gbps": 0},
            "device_to_device": {"total_size_bytes": 12288}}})"))
        << "8 bytes in a nanosecond, no time, and of the device that loses the pages";
    EXPECT_TRUE(has_fields(devices[1], R"({"device_name": "g\ufffd", "migrations": {
        "device_to_device": {"count": 0}, "host_to_device": {"min_size_bytes": 0},
        "device_to_host": {"total_size_bytes": 20480}}})"));
    EXPECT_TRUE(has_fields(devices[2], R"({"device_id": 9, "device_name": "GPU 9"})"))
        << "its name was not recorded";
}

TEST(HmmctlRocprofSys, CountsFaultsAndWhatCausedMigrations) {
    EXPECT_EQ(some_summary()["summary"], nlohmann::json::parse(R"({
        "total_page_faults": 2,
        "xnack_enabled": true,
        "migration_triggers": {"gpu_page_fault": 2, "cpu_page_fault": 1, "prefetch": 1,
                               "ttm_eviction": 1, "unknown": 1}})"));
}

TEST(HmmctlRocprofSys, OfFaultsWithoutMigrationsHasNoDevices) {
    const nlohmann::json found = summary_of_events({device_fault(0, 0x1000)});
    EXPECT_TRUE(found["devices"].empty());
    EXPECT_EQ(found["summary"]["total_page_faults"], 1);
}

} // namespace
