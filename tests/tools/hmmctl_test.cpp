// SPDX-License-Identifier: MIT
// hmmctl on a machine with devices: its values match the observed process, it shows nothing without
// permission, and it refuses wrong input.
#include "hmmctl_run.hpp"
#include "observed.hpp"

#include <linux/hmmrt.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using nlohmann::json;

/// Returns the list's process with that pid, or null unless there is exactly one.
json process_in(const json& list, pid_t pid) {
    json found;
    for (const json& of : list["processes"])
        if (of["pid"] == pid) {
            EXPECT_TRUE(found.is_null()) << "twice in the list";
            found = of;
        }
    return found;
}

/// The values of hmmGetStats() under hmmctl's names.
void expect_same(const hmmStats& stats, const json& process, const json& device) {
    EXPECT_EQ(process["cpu_faults"], stats.cpuFaults);
    EXPECT_EQ(process["migrated_to_host"], stats.pagesToHost);
    EXPECT_EQ(process["invalidations"], stats.invalidations);
    EXPECT_EQ(device["device_faults"], stats.deviceFaults);
    EXPECT_EQ(device["failed_faults"], stats.failedFaults);
    EXPECT_EQ(device["migrated_to_device"], stats.pagesToDevice);
    EXPECT_EQ(device["evicted_pages"], stats.pagesEvicted);
    EXPECT_EQ(device["evictions"], stats.evictions);
    EXPECT_EQ(device["copied_pages"], stats.duplicates);
    EXPECT_EQ(device["mapped_pages"], stats.pagesMapped);
    EXPECT_EQ(device["remote_pages"], stats.pagesRemote);
    EXPECT_EQ(device["counted_moves"], stats.countedMoves);
    EXPECT_EQ(device["retries"], stats.retries);
    EXPECT_EQ(device["thrashing_blocks"], stats.thrashing);
    EXPECT_EQ(device["throttled_faults"], stats.throttledFaults);
    EXPECT_EQ(device["thrash_pins"], stats.thrashPins);
    EXPECT_EQ(device["quota_refusals"], stats.quotaRefusals);
    EXPECT_EQ(device["memory_refusals"], stats.memoryRefusals);
}

TEST(Process, ShowHasTheValuesOfGetStats) {
    const observed program;
    own_words before = {}, after = {};
    json found;
    // NUMA balancing may invalidate memory at any time
    for (int i = 0; i < 10; i++) {
        before = program.ask();
        found = json_of({"process", "show", std::to_string(program.pid())})["process"];
        after = program.ask();
        if (std::memcmp(&before, &after, sizeof(before)) == 0) break;
    }
    ASSERT_EQ(std::memcmp(&before, &after, sizeof(before)), 0) << "the program is not idle";
    ASSERT_EQ(found["devices"].size(), 2u);
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_EQ(found["devices"][i]["id"], i);
        EXPECT_EQ(found["devices"][i]["used_bytes"], before.used_bytes[i]);
        EXPECT_GT(before.stats[i].pagesToDevice, 0u);
        EXPECT_GT(before.used_bytes[i], 0u);
        expect_same(before.stats[i], found, found["devices"][i]);
    }
    EXPECT_EQ(found["used_bytes"], before.used_bytes[0] + before.used_bytes[1]);
    EXPECT_GT(before.stats[0].cpuFaults, 0u);
    EXPECT_GT(before.stats[0].duplicates, 0u);
}

TEST(Process, ListHasEachProcessOnce) {
    const observed first, second;
    const json list = json_of({"process", "list"});
    EXPECT_EQ(fields_of(list),
              (std::set<std::string>{"schema", "processes", "unreadable_processes"}));
    EXPECT_EQ(list["unreadable_processes"], 0);
    for (const observed* program : {&first, &second}) {
        const json shown = json_of({"process", "show", std::to_string(program->pid())})["process"];
        EXPECT_EQ(process_in(list, program->pid()), shown);
        EXPECT_EQ(shown["uid"], 0);
        EXPECT_EQ(shown["name"], "observed-progra");
    }
    const std::string text = run_hmmctl({"process", "list"}).out;
    EXPECT_TRUE(std::regex_search(text, std::regex("\n *" + std::to_string(first.pid()) + " ")))
        << text;
}

TEST(Process, FieldsStayAsTheyAre) {
    const observed program;
    const json found = json_of({"process", "show", std::to_string(program.pid())})["process"];
    EXPECT_EQ(fields_of(found), (std::set<std::string>{"pid", "uid", "name", "space", "used_bytes",
                                                       "migrated_to_host", "cpu_faults",
                                                       "invalidations", "blocks", "devices"}));
    EXPECT_EQ(fields_of(found["devices"][0]), (std::set<std::string>{"id",
                                                                     "binding",
                                                                     "used_bytes",
                                                                     "device_faults",
                                                                     "failed_faults",
                                                                     "mapped_pages",
                                                                     "remote_pages",
                                                                     "migrated_to_device",
                                                                     "retries",
                                                                     "copied_pages",
                                                                     "evictions",
                                                                     "evicted_pages",
                                                                     "thrashing_faults",
                                                                     "fault_batches",
                                                                     "merged_faults",
                                                                     "flushed_faults",
                                                                     "replays",
                                                                     "pending_faults",
                                                                     "thrashing_blocks",
                                                                     "throttled_faults",
                                                                     "thrash_pins",
                                                                     "thrash_unpins",
                                                                     "counted_moves",
                                                                     "quota_refusals",
                                                                     "memory_refusals",
                                                                     "thrashing_resets"}));
}

TEST(Process, OfAnotherUserIsNotSeenWithoutPermission) {
    const observed program;
    const json list = json_of({"process", "list"}, {.uid = other_user});
    EXPECT_TRUE(list["processes"].empty()) << list;
    EXPECT_GE(list["unreadable_processes"], 1);
    const result text = run_hmmctl({"process", "list"}, {.uid = other_user});
    EXPECT_EQ(text.status, 0);
    EXPECT_NE(text.err.find("no permission to inspect "), std::string::npos) << text.err;
    const result shown =
        run_hmmctl({"process", "show", std::to_string(program.pid())}, {.uid = other_user});
    EXPECT_EQ(shown.status, 1);
    EXPECT_EQ(shown.out, "");
    EXPECT_NE(shown.err.find("no permission"), std::string::npos) << shown.err;
}

TEST(Process, FaultRateIsMeasured) {
    const observed program;
    const std::string pid = std::to_string(program.pid());
    for (const auto& arguments :
         {std::vector<std::string>{"process", "show", pid, "--interval", "0.05"},
          std::vector<std::string>{"process", "list", "--interval=0.05"}}) {
        const json answer = json_of(arguments);
        const json found =
            answer.contains("process") ? answer["process"] : process_in(answer, program.pid());
        ASSERT_EQ(found["devices"].size(), 2u);
        EXPECT_EQ(found["devices"][0]["faults_per_second"], 0.0);
    }
}

TEST(Process, ThatDoesNotUseADeviceIsAFailure) {
    const result found = run_hmmctl({"process", "show", std::to_string(getpid())});
    EXPECT_EQ(found.status, 1);
    EXPECT_EQ(found.err, "hmmctl: process " + std::to_string(getpid()) + " does not use hmmrt\n");
    EXPECT_EQ(run_hmmctl({"process", "show", "2147483647"}).err,
              "hmmctl: process 2147483647 does not exist\n");
}

/// Lists the devices when nothing uses them. Memory is freed shortly after its process has exited.
json idle_devices() {
    const auto is_used = [](const json& device) { return device["used_bytes"] != 0; };
    for (int i = 0; i < 200; i++, usleep(100000)) {
        json devices = json_of({"device", "list"})["devices"];
        if (std::none_of(devices.begin(), devices.end(), is_used)) return devices;
    }
    ADD_FAILURE() << "a device is still in use";
    return json::array();
}

TEST(Device, ListAndShowAgree) {
    const json devices = idle_devices();
    ASSERT_GE(devices.size(), 2u);
    for (json device : devices) {
        const std::string id = std::to_string(device["id"].get<unsigned>());
        EXPECT_EQ(device["name"], "hmmrt-gpu" + id);
        EXPECT_EQ(device["free_bytes"].get<std::uint64_t>(),
                  device["memory_bytes"].get<std::uint64_t>() -
                      device["used_bytes"].get<std::uint64_t>());
        json shown = json_of({"device", "show", id})["device"];
        const json knobs = shown["knobs"];
        shown.erase("knobs");
        // the device returns host memory in the background
        EXPECT_EQ(shown.erase("backed_bytes") + device.erase("backed_bytes"), 2u);
        EXPECT_EQ(shown, device);
        EXPECT_EQ(knobs["oversubscription"],
                  (json{{"value", 2}, {"min", 0}, {"max", 2}, {"default", 2}}));
        EXPECT_EQ(knobs.size(), static_cast<std::size_t>(HMMRT_KNOBS));
        EXPECT_EQ(run_hmmctl({"device", "show", id}).status, 0);
    }
    EXPECT_EQ(
        fields_of(devices[0]),
        (std::set<std::string>{"id", "name", "memory_bytes", "used_bytes", "free_bytes",
                               "backed_bytes", "numa_node", "coherent", "native_atomics",
                               "evictions", "evictions_ahead", "chunk_bytes", "free_chunks",
                               "partial_chunks", "full_chunks", "split_chunks", "merged_chunks"}));
}

TEST(Device, NeedsPermission) {
    const result found = run_hmmctl({"device", "list"}, {.uid = other_user});
    EXPECT_EQ(found.status, 1);
    EXPECT_EQ(found.out, "");
    EXPECT_NE(found.err.find("no permission"), std::string::npos) << found.err;
}

TEST(Doctor, FindsThisMachineGood) {
    const json found = json_of({"doctor"})["doctor"];
    EXPECT_EQ(found["good"], true);
    EXPECT_EQ(found["transparent_access"], true);
    EXPECT_EQ(fields_of(found), (std::set<std::string>{"good", "transparent_access", "checks"}));
    for (const json& check : found["checks"])
        EXPECT_EQ(fields_of(check), (std::set<std::string>{"name", "result", "found", "advice"}));
}

TEST(Doctor, FailsIfAProgramWouldGetNoDevice) {
    for (const manner& how :
         {manner{.uid = other_user}, manner{.environment = {"HMMRT_DEVICE=cpu"}},
          manner{.environment = {"HMMRT_LANES=0"}}}) {
        const result found = run_hmmctl({"doctor", "--json"}, how);
        EXPECT_EQ(found.status, 1);
        const json parsed = answer_in(found.out, "doctor");
        ASSERT_TRUE(parsed.contains("doctor"));
        EXPECT_EQ(parsed["doctor"]["good"], false);
        EXPECT_EQ(parsed["doctor"]["transparent_access"], false);
        const result text = run_hmmctl({"doctor"}, how);
        EXPECT_EQ(text.status, 1);
        EXPECT_NE(text.out.find("What to do:\n"), std::string::npos) << text.out;
    }
}

class Wrong : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Wrong, UseHasStatusTwoAndNoOutput) {
    const result found = run_hmmctl(GetParam());
    EXPECT_EQ(found.status, 2);
    EXPECT_EQ(found.out, "");
    EXPECT_NE(found.err, "");
}

using words = std::vector<std::string>;
INSTANTIATE_TEST_SUITE_P(
    , Wrong,
    testing::Values(
        words{}, words{"--json"}, words{"frob"}, words{"--frob"}, words{"--json=maybe", "doctor"},
        words{"device"}, words{"device", "frob"}, words{"device", "list", "0"},
        words{"device", "list", "--frob"}, words{"device", "show"}, words{"device", "show", "x"},
        words{"device", "show", ""}, words{"device", "show", "-1"}, words{"device", "show", "1.5"},
        words{"device", "show", "010"}, words{"process", "show", "010"},
        words{"device", "show", "4294967296"}, words{"device", "show", "0", "1"},
        words{"device", "show", "0", "--interval", "1"}, words{"process"}, words{"process", "frob"},
        words{"process", "list", "1"}, words{"process", "list", "--interval"},
        words{"process", "list", "--interval", "0"}, words{"process", "list", "--interval", "-1"},
        words{"process", "list", "--interval", "nan"},
        words{"process", "list", "--interval", "3601"},
        words{"process", "list", "--interval", "1x"}, words{"process", "show"},
        words{"process", "show", "x"}, words{"process", "show", ""}, words{"process", "show", "0"},
        words{"process", "show", "-1"}, words{"process", "show", "2147483648"},
        words{"process", "show", "1", "2"}, words{"process", "show", "1", "--interval", "0"},
        words{"range"}, words{"range", "frob"}, words{"range", "list"}, words{"range", "list", "0"},
        words{"range", "list", "x"}, words{"range", "list", "1", "2"},
        words{"range", "list", "1", "--interval", "1"},
        words{"range", "list", "1", "--width", "80"}, words{"residency"}, words{"residency", "0"},
        words{"residency", "x"}, words{"residency", "1", "2"}, words{"residency", "1", "--width"},
        words{"residency", "1", "--width", "39"}, words{"residency", "1", "--width", "1001"},
        words{"residency", "1", "--width", "x"}, words{"residency", "1", "--all=maybe"},
        words{"device", "list", "--", "true"}, words{"doctor", "--"}, words{"trace"},
        words{"trace", "frob"}, words{"trace", "record"}, words{"trace", "record", "--"},
        words{"trace", "record", "true"}, words{"trace", "record", "--pid", "0"},
        words{"trace", "record", "--pid", "x"}, words{"trace", "record", "--pid", "1", "--machine"},
        words{"trace", "record", "--pid", "1", "--", "true"},
        words{"trace", "record", "--machine", "--", "true"},
        words{"trace", "record", "--events", "100", "--", "true"},
        words{"trace", "record", "--events", "32", "--", "true"},
        words{"trace", "record", "--events", "2097152", "--", "true"},
        words{"trace", "record", "--events", "-64", "--", "true"},
        words{"trace", "record", "--seconds", "0", "--", "true"},
        words{"trace", "record", "--json", "--", "true"},
        words{"trace", "record", "--pid", "1", "--allocations"},
        words{"trace", "record", "--machine", "--allocations"},
        words{"trace", "record", "--allocations=maybe", "--", "true"},
        words{"trace", "record", "--pid", "1", "--accesses"},
        words{"trace", "record", "--machine", "--accesses"},
        words{"profile", "--accesses", "--", "true"}, words{"profile", "--allocations"},
        words{"profile", "--least-bytes", "65536", "--", "true"},
        words{"profile", "--allocations", "--least-bytes", "--", "true"},
        words{"profile", "--allocations", "--least-bytes", "4095", "--", "true"},
        words{"profile", "--allocations", "--least-bytes", "0", "--", "true"},
        words{"profile", "--allocations", "--least-bytes", "-1", "--", "true"},
        words{"profile", "--allocations", "--least-bytes", "64k", "--", "true"},
        words{"profile", "--allocations", "--least-bytes", "140737488355329", "--", "true"},
        words{"trace", "record", "-o", "", "--", "true"}, words{"trace", "report"},
        words{"trace", "report", ""}, words{"trace", "report", "a", "b"}, words{"trace", "export"},
        words{"trace", "export", "a", "--format", "xml"}, words{"trace", "export", "a", "--json"},
        words{"profile"}, words{"profile", "--"}, words{"profile", "true"},
        words{"profile", "--pid", "1", "--", "true"},
        words{"profile", "--events", "65", "--", "true"}, words{"top", "1"},
        words{"top", "--count", "0"}, words{"top", "--count", "x"}, words{"top", "--json"},
        words{"top", "--interval", "0"}, words{"stats", "0"}, words{"stats", "x"},
        words{"stats", ""}, words{"stats", "1", "2"}, words{"stats", "--interval", "0"},
        words{"stats", "--interval", "x"}, words{"stats", "--count", "1"},
        words{"stats", "--interval", "1", "--count", "0"},
        words{"stats", "--interval", "1", "--count", "x"}, words{"stats", "--filter"},
        words{"stats", "--filter", ""}, words{"stats", "--filter", ","}, words{"stats", "--frob"},
        words{"stats", "--", "true"}, words{"doctor", "now"}, words{"doctor", "--frob"},
        words{"doctor", "--interval", "1"}, words{"bench", "frob"}, words{"bench", "--frob"},
        words{"bench", "--pattern", "frob"}, words{"bench", "--pattern", "triad,frob"},
        words{"bench", "--scaling", "frob"}, words{"bench", "--pattern"},
        words{"bench", "--transfer", "frob"}, words{"bench", "--footprint", "0"},
        words{"bench", "--footprint", "9"}, words{"bench", "--footprint", "x"},
        words{"bench", "--repeats", "0"}, words{"bench", "--repeats", "1001"},
        words{"bench", "-o", ""}, words{"bench", "--quick", "--", "true"}));

/// Measured once, because it is slow on a debug kernel.
const json& measured() {
    static const json answer = json_of({"bench", "--quick", "--pattern", "sequential"})["bench"];
    return answer;
}

TEST(Bench, MeasuresEachTransferAndVerifiesItsResult) {
    const json& answer = measured();
    EXPECT_EQ(fields_of(answer), (std::set<std::string>{"version", "kernel", "clock", "processors",
                                                        "pages", "huge_pages", "device", "repeats",
                                                        "quick", "cases", "peers", "scaling"}));
    EXPECT_EQ(answer["clock"], "time"); // the environment doesn't select another
    EXPECT_EQ(answer["device"]["simulated"], true);
    EXPECT_EQ(answer["cases"].size(), 6u); // five transfers and the CPU
    for (const json& one : answer["cases"]) {
        SCOPED_TRACE(one.dump());
        EXPECT_EQ(
            fields_of(one),
            (std::set<std::string>{"pattern", "transfer", "footprint", "bytes", "verified",
                                   "move_in", "kernel", "read_back", "total", "counts", "phases"}));
        EXPECT_EQ(one["pattern"], "sequential");
        EXPECT_EQ(one["verified"], true);
        EXPECT_EQ(one["total"]["samples"].size(), 3u);
        EXPECT_GT(one["total"]["median"], 0.0);
        EXPECT_GT(one["kernel"]["median"], 0.0);
        EXPECT_LE(one["kernel"]["lower"], one["kernel"]["upper"]);
    }
}

TEST(Bench, SeesWhatEachTransferMoves) {
    const json& answer = measured();
    ASSERT_EQ(answer["cases"].size(), 6u);
    for (const json& one : answer["cases"]) {
        if (one["transfer"] == "cpu") continue;
        SCOPED_TRACE(one.dump());
        const std::uint64_t pages = one["bytes"].get<std::uint64_t>() / 4096;
        const json& counts = one["counts"];
        const std::string transfer = one["transfer"];
        if (transfer == "remote") {
            EXPECT_LT(counts["pages_to_device"], pages / 10);
        } else if (transfer != "copy") {
            EXPECT_GE(counts["pages_to_device"], pages);
        }
        ASSERT_TRUE(one["phases"].is_object());
        EXPECT_EQ(one["phases"]["dropped_events"], 0);
        if (transfer == "faults") {
            EXPECT_GE(counts["device_faults"], pages / 16);
        }
        if (transfer == "faults" || transfer == "prefetch") {
            EXPECT_GT(one["phases"]["copy"], 0);
        }
    }
}

TEST(Bench, MeasuresPeers) {
    const json answer = json_of({"bench", "--quick", "--peer",
                                 "storm,fault,prefetch,prefetch-back,cpu-fault,launch,memcpy,"
                                 "uffd-copy,uffd-move,move-pages"})["bench"];
    EXPECT_TRUE(answer["cases"].empty());
    ASSERT_EQ(answer["peers"].size(), 10u);
    for (const json& one : answer["peers"]) {
        SCOPED_TRACE(one.dump());
        if (one.contains("unavailable")) { // on older kernels, and with one node
            EXPECT_TRUE(one["name"] == "uffd-move" || one["name"] == "move-pages");
            continue;
        }
        EXPECT_GT(one["operations"], 0);
        EXPECT_GT(one["taken"]["median"], 0.0);
    }
}

/// The kernel's module test_hmm, while this exists.
class kernel_driver {
  public:
    explicit kernel_driver(const char* kernel_build) {
        const std::string path = std::string(kernel_build) + "/lib/test_hmm.ko";
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        EXPECT_EQ(syscall(SYS_finit_module, file, "", 0), 0)
            << path << ": " << std::strerror(errno);
        close(file);
    }
    kernel_driver(const kernel_driver&) = delete;
    kernel_driver& operator=(const kernel_driver&) = delete;
    ~kernel_driver() { EXPECT_EQ(syscall(SYS_delete_module, "test_hmm", 0), 0); }
};

TEST(Bench, MeasuresTheKernelsOwnDriver) {
    const char* const kernel_build = std::getenv("HMMRT_KERNEL_BUILD");
    if (kernel_build == nullptr) GTEST_SKIP() << "HMMRT_KERNEL_BUILD does not say where it is";
    const auto peers = [] {
        return json_of({"bench", "--quick", "--peer", "test-hmm,test-hmm-back"})["bench"]["peers"];
    };
    for (const json& one : peers())
        EXPECT_EQ(one["unavailable"], "the kernel's module test_hmm is not loaded");
    const kernel_driver loaded(kernel_build);
    const json measured = peers();
    ASSERT_EQ(measured.size(), 2u);
    for (const json& one : measured) {
        SCOPED_TRACE(one.dump());
        ASSERT_TRUE(one.contains("taken"));
        EXPECT_EQ(one["operations"], 1024);
        EXPECT_EQ(one["taken"]["samples"].size(), 3u);
        EXPECT_GT(one["taken"]["median"], 0.0);
    }
}

TEST(Bench, MeasuresHowItScales) {
    const json answer =
        json_of({"bench", "--quick", "--repeats", "1", "--scaling", "lanes,devices,processes"},
                {.environment = {"HMMRT_LANES=2"}})["bench"];
    EXPECT_TRUE(answer["cases"].empty());
    EXPECT_TRUE(answer["peers"].empty());
    std::map<std::string, unsigned> largest;
    for (const json& one : answer["scaling"]) {
        SCOPED_TRACE(one.dump());
        unsigned& most = largest[one["by"]];
        most = std::max(most, one["count"].get<unsigned>());
        EXPECT_EQ(one["pages"], one["count"].get<unsigned>() * 1024);
        EXPECT_GT(one["pages_per_second"], 0.0);
        EXPECT_GT(one["speedup"], 0.0);
    }
    const std::size_t devices = json_of({"device", "list"})["devices"].size();
    EXPECT_EQ(largest["lanes"], 2u);
    EXPECT_EQ(largest["devices"], devices);
    EXPECT_EQ(largest["processes"], 4u);
}

TEST(Bench, WithoutADeviceIsAFailure) {
    const result found = run_hmmctl({"bench", "--quick"}, {.environment = {"HMMRT_DEVICE=frob"}});
    EXPECT_EQ(found.status, 1);
    EXPECT_EQ(found.out, "");
    EXPECT_NE(found.err, "");
}

TEST(Command, FailsForADeviceThatDoesNotExist) {
    for (const char* id : {"15", "16", "4294967295"}) {
        const result found = run_hmmctl({"device", "show", id});
        EXPECT_EQ(found.status, 1);
        const std::string device = std::string("device ") + id + " does not exist";
        EXPECT_NE(found.err.find(device), std::string::npos) << found.err;
        EXPECT_EQ(found.out, "");
    }
}

TEST(Command, FailsIfItsOutputIsLost) {
    const observed program;
    const std::string pid = std::to_string(program.pid());
    for (const words& arguments :
         {words{"device", "list"}, words{"device", "show", "0"}, words{"process", "list"},
          words{"process", "show", pid}, words{"range", "list", pid}, words{"residency", pid},
          words{"stats"}, words{"stats", pid, "--interval", "0.01"}, words{"doctor"},
          words{"doctor", "--json"}}) {
        const result found = run_hmmctl(arguments, {.out = "/dev/full"});
        EXPECT_EQ(found.status, 1);
        EXPECT_NE(found.err.find("cannot write"), std::string::npos) << found.err;
    }
}

TEST(Command, ExplainsItself) {
    for (const words& arguments :
         {words{"--help"}, words{"device", "--help"}, words{"device", "show", "--help"},
          words{"process", "list", "--help"}, words{"range", "list", "--help"},
          words{"residency", "--help"}, words{"doctor", "--help"},
          words{"trace", "record", "--help"}, words{"profile", "--help"}, words{"top", "--help"},
          words{"stats", "--help"}, words{"bench", "--help"}, words{"--version"}}) {
        const result found = run_hmmctl(arguments);
        EXPECT_EQ(found.status, 0);
        EXPECT_NE(found.out.find("hmmctl"), std::string::npos) << found.out;
        EXPECT_EQ(found.err, "");
    }
}

} // namespace
