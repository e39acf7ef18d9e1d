// SPDX-License-Identifier: MIT
// The summary for ROCm Systems Profiler: fields and types match those that the profiler writes, and
// the values match the events.
#include "hmmctl_report.hpp"

using namespace hmmctl;

namespace {

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
    EXPECT_EQ(devices[0]["device_id"], 0);
    EXPECT_EQ(devices[0]["device_name"], "gpu0");
    const nlohmann::json& in = devices[0]["migrations"]["host_to_device"];
    EXPECT_TRUE(has_fields(in, R"({
        "count": 2, "avg_size_bytes": 16384, "min_size_bytes": 8192, "max_size_bytes": 24576,
        "total_size_bytes": 32768, "total_time_ns": 4096, "migration_throughput_gbps": 8})"))
        << "8 bytes in a nanosecond";
    const nlohmann::json& out = devices[0]["migrations"]["device_to_host"];
    EXPECT_EQ(out["total_size_bytes"], 4096);
    EXPECT_EQ(out["migration_throughput_gbps"], 0.0) << "it took no time";
    EXPECT_EQ(devices[0]["migrations"]["device_to_device"]["total_size_bytes"], 3 * 4096)
        << "of the device that loses the pages";
    EXPECT_EQ(devices[1]["device_name"], "g\xef\xbf\xbd");
    EXPECT_EQ(devices[1]["migrations"]["device_to_device"]["count"], 0);
    EXPECT_EQ(devices[1]["migrations"]["host_to_device"]["min_size_bytes"], 0);
    EXPECT_EQ(devices[1]["migrations"]["device_to_host"]["total_size_bytes"], 5 * 4096);
    EXPECT_EQ(devices[2]["device_id"], 9);
    EXPECT_EQ(devices[2]["device_name"], "GPU 9") << "its name was not recorded";
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
