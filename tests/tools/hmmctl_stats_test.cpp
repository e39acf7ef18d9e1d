// SPDX-License-Identifier: MIT
// `hmmctl stats` on a machine with devices: its counters match the other commands, and what a
// program does.
#include "hmmctl_run.hpp"
#include "observed.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <unistd.h>

namespace {

using nlohmann::json;

constexpr std::uint64_t laid_out_pages = 512; // observed::lay_out() moves these to device 0

/// Returns the counters of `process show`, in the form of `stats`.
json counters_shown(json object) {
    for (const char* name : {"pid", "uid", "name", "space", "devices", "id", "binding"})
        object.erase(name);
    return object;
}

std::uint64_t sum_of(const json& list, const std::string& name) {
    std::uint64_t sum = 0;
    for (const json& one : list)
        sum += one[name].get<std::uint64_t>();
    return sum;
}

/// NUMA balancing may invalidate memory at any time, and blocks are freed in the background.
bool may_change(const std::string& name) {
    return name == "invalidations" || name == "blocks";
}

TEST(Stats, HasTheCountersOfProcessShow) {
    const observed program;
    const std::string pid = std::to_string(program.pid());
    const json found = json_of({"stats", pid})["stats"];
    json shown = json_of({"process", "show", pid})["process"];
    EXPECT_EQ(fields_of(found),
              (std::set<std::string>{"pid", "seconds", "processes", "unreadable_processes",
                                     "counters", "devices"}));
    EXPECT_EQ(found["pid"], program.pid());
    EXPECT_EQ(found["processes"], 1);
    EXPECT_TRUE(found["seconds"].is_null());
    ASSERT_EQ(found["devices"].size(), 2u);
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_EQ(found["devices"][i]["id"], i);
        EXPECT_EQ(found["devices"][i]["counters"], counters_shown(shown["devices"][i]));
        EXPECT_TRUE(found["devices"][i]["device"].is_null());
    }
    shown.erase("used_bytes"); // summed over devices
    json whole = counters_shown(shown);
    EXPECT_EQ(fields_of(found["counters"]), fields_of(whole));
    EXPECT_EQ(found["counters"]["cpu_faults"], whole["cpu_faults"]);
    EXPECT_EQ(found["counters"]["migrated_to_host"], whole["migrated_to_host"]);
}

TEST(Stats, AddsAllProcessesAndHasTheDevices) {
    const observed first, second;
    const json found = json_of({"stats"})["stats"];
    const json list = json_of({"process", "list"})["processes"];
    EXPECT_TRUE(found["pid"].is_null());
    EXPECT_EQ(found["processes"], list.size());
    EXPECT_GE(list.size(), 2u);
    for (const auto& [name, value] : found["counters"].items())
        if (!may_change(name)) {
            EXPECT_EQ(value, sum_of(list, name)) << name;
        }
    json on_device[2];
    for (const json& of : list)
        for (const json& device : of["devices"])
            on_device[device["id"].get<unsigned>()].push_back(device);
    for (unsigned i = 0; i < 2; i++) {
        const json& device = found["devices"].at(i);
        for (const auto& [name, value] : device["counters"].items())
            EXPECT_EQ(value, sum_of(on_device[i], name)) << name;
        const json shown = json_of({"device", "show", std::to_string(i)})["device"];
        for (const auto& [name, value] : device["device"].items())
            if (name != "backed_bytes") {
                EXPECT_EQ(value, shown[name]) << name;
            }
        EXPECT_EQ(fields_of(device["device"]),
                  (std::set<std::string>{"used_bytes", "free_bytes", "backed_bytes", "evictions",
                                         "evictions_ahead", "free_chunks", "partial_chunks",
                                         "full_chunks", "split_chunks", "merged_chunks"}));
    }
}

TEST(Stats, DifferByThePagesThatAPrefetchMoves) {
    const observed program;
    const auto counted = [&] { return json_of({"stats", std::to_string(program.pid())})["stats"]; };
    const json before = counted();
    program.lay_out();
    const json after = counted();
    for (const auto& [name, value] : after["devices"][0]["counters"].items()) {
        const std::uint64_t earlier = before["devices"][0]["counters"][name];
        const std::uint64_t expected = name == "migrated_to_device" || name == "mapped_pages"
                                           ? laid_out_pages
                                       : name == "used_bytes" ? laid_out_pages * 4096
                                                              : 0;
        EXPECT_EQ(value.get<std::uint64_t>() - earlier, expected) << name;
    }
    EXPECT_EQ(after["devices"][1], before["devices"][1]);
    EXPECT_EQ(after["counters"]["cpu_faults"], before["counters"]["cpu_faults"]);
    EXPECT_EQ(after["counters"]["migrated_to_host"], before["counters"]["migrated_to_host"]);
}

/// The lines that a command has written to a file so far.
std::vector<std::string> lines_in(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line) && !file.eof();)
        lines.push_back(line);
    return lines;
}

TEST(Stats, OfIntervalsAddUpToThePagesThatAPrefetchMoves) {
    const observed program;
    std::string path = "/tmp/stats-XXXXXX";
    close(mkstemp(path.data()));
    const auto wait_for_lines = [&](std::size_t count) {
        for (int i = 0; i < 600 && lines_in(path).size() < count; i++)
            usleep(100000);
    };
    const auto use = [&](pid_t hmmctl) {
        wait_for_lines(1);
        program.lay_out();
        wait_for_lines(lines_in(path).size() + 2);
        kill(hmmctl, SIGTERM);
    };
    run_hmmctl({"stats", std::to_string(program.pid()), "--interval", "0.1", "--json"},
               {.out = path.c_str(), .beside = use});
    const std::vector<std::string> lines = lines_in(path);
    unlink(path.c_str());
    EXPECT_GE(lines.size(), 3u);
    std::uint64_t moved = 0;
    for (const std::string& line : lines) {
        SCOPED_TRACE(line);
        const json answer = answer_in(line, "stats");
        ASSERT_TRUE(answer.contains("stats"));
        EXPECT_GE(answer["stats"]["seconds"], 0.1);
        const json& devices = answer["stats"]["devices"];
        moved += devices[0]["counters"]["migrated_to_device"].get<std::uint64_t>();
        EXPECT_GT(devices[0]["counters"]["used_bytes"], 0) << "not what changed";
        EXPECT_EQ(devices[1]["counters"]["migrated_to_device"], 0);
    }
    EXPECT_EQ(moved, laid_out_pages);
}

TEST(Stats, OfAnIdleProcessAreZeroInEachInterval) {
    const observed program;
    const result found = run_hmmctl({"stats", std::to_string(program.pid()), "--interval=0.05",
                                     "--count=2", "--filter", "device_faults,cpu_faults"});
    EXPECT_EQ(found.status, 0) << found.err;
    const std::string title = "Process " + std::to_string(program.pid()) +
                              ", in [0-9.]+ seconds\nCOUNTER +ALL +DEVICE 0"
                              " +DEVICE 1\n";
    EXPECT_TRUE(std::regex_match(found.out, std::regex(title + "\n" + title))) << found.out;
}

TEST(Stats, NeedTheRightsOfWhatTheyShow) {
    const observed program;
    const std::string pid = std::to_string(program.pid());
    const std::string whole = run_hmmctl({"stats"}, {.uid = other_user}).err;
    EXPECT_NE(whole.find("cannot open /dev/hmmrt: no permission"), std::string::npos) << whole;
    const std::string single = run_hmmctl({"stats", pid}, {.uid = other_user}).err;
    EXPECT_NE(single.find("no permission to inspect process " + pid), std::string::npos) << single;
    const result missing = run_hmmctl({"stats", "2147483647"});
    EXPECT_NE(missing.err.find("process 2147483647 does not exist"), std::string::npos)
        << missing.err;
    const result unknown = run_hmmctl({"stats", "--filter", "frob"});
    EXPECT_EQ(unknown.status, 1);
    EXPECT_NE(unknown.err.find("no counter"), std::string::npos) << unknown.err;
    EXPECT_NE(unknown.err.find("frob"), std::string::npos) << unknown.err;
    EXPECT_EQ(unknown.out, "");
}

} // namespace
