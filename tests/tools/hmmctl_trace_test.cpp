// SPDX-License-Identifier: MIT
// Events on a machine with devices: recordings and profiles match the program's own counts, and
// contain nothing from processes that the user may not observe.
#include "hmmctl_run.hpp"
#include "observed.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <unistd.h>

namespace {

using nlohmann::json;
namespace fs = std::filesystem;
using words = std::vector<std::string>;

const std::string counted_program = OBSERVED;

/// A folder for hmmctl's files.
class Events : public testing::Test {
  protected:
    Events() {
        std::string name = fs::temp_directory_path() / "hmmctl-XXXXXX";
        EXPECT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        file_ = folder_ / "file";
    }
    ~Events() override { fs::remove_all(folder_); }

    std::string contents() const {
        std::ifstream file(file_, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    /// Runs the counting program under hmmctl. Returns its own report.
    own_words run_counted(words arguments) const {
        arguments.insert(arguments.end(), {"-o", file_, "--", counted_program, "--counted"});
        const result found = run_hmmctl(arguments);
        EXPECT_EQ(found.status, 0) << found.err;
        own_words said = {};
        EXPECT_EQ(found.out.size(), sizeof(said)) << found.err;
        std::memcpy(&said, found.out.data(), std::min(found.out.size(), sizeof(said)));
        return said;
    }

    /// Runs a command that must succeed and print JSON.
    static json json_of(const words& arguments) {
        const result found = run_hmmctl(arguments);
        EXPECT_EQ(found.status, 0) << found.err;
        json parsed = json::parse(found.out, nullptr, false);
        EXPECT_TRUE(parsed.is_object()) << found.out;
        return parsed;
    }

    /// The file that `profile -o` wrote.
    json profile() const { return answer_in(contents(), "profile")["profile"]; }

    json report() const { return ::json_of({"trace", "report", file_})["report"]; }

    json recorded_events() const {
        const result found = run_hmmctl({"trace", "export", file_, "--format", "json"});
        return answer_in(found.out, "trace_export")["events"];
    }

    fs::path folder_;
    std::string file_;
};

std::uint64_t pages_of(const json& tally) {
    return tally["bytes"].get<std::uint64_t>() / page;
}

/// The values of hmmGetStats() for a device under a profile's names.
void expect_same(const hmmStats& stats, const json& device) {
    EXPECT_EQ(device["device_faults"]["count"], stats.deviceFaults);
    EXPECT_EQ(device["failed_faults"]["count"], stats.failedFaults);
    EXPECT_EQ(pages_of(device["host_to_device"]) + pages_of(device["device_to_device"]),
              stats.pagesToDevice);
    EXPECT_EQ(pages_of(device["evicted"]), stats.pagesEvicted);
    EXPECT_EQ(device["evictions"]["count"], stats.evictions);
    EXPECT_EQ(pages_of(device["duplicates"]), stats.duplicates);
    EXPECT_EQ(pages_of(device["maps"]), stats.pagesMapped);
    EXPECT_EQ(pages_of(device["remote_maps"]), stats.pagesRemote);
    EXPECT_EQ(device["thrashing_blocks"], stats.thrashing);
    EXPECT_EQ(device["throttles"]["count"], stats.throttledFaults);
    EXPECT_EQ(device["thrash_pins"], stats.thrashPins);
}

void expect_same(const own_words& said, const json& profile) {
    EXPECT_EQ(profile["dropped_events"], 0);
    ASSERT_EQ(profile["devices"].size(), 2u) << profile;
    std::uint64_t to_host = 0;
    for (unsigned i = 0; i < 2; i++) {
        SCOPED_TRACE("device " + std::to_string(i));
        const json& device = profile["devices"][i];
        EXPECT_EQ(device["id"], i);
        expect_same(said.stats[i], device);
        to_host += pages_of(device["device_to_host"]) - pages_of(device["evicted"]);
    }
    EXPECT_EQ(to_host, said.stats[0].pagesToHost);
    EXPECT_EQ(profile["cpu_faults"]["count"], said.stats[0].cpuFaults);
    EXPECT_GT(said.stats[0].deviceFaults, 0u);
    EXPECT_GT(said.stats[0].cpuFaults, 0u);
    EXPECT_GT(said.stats[0].duplicates, 0u);
    EXPECT_GT(said.stats[1].pagesToDevice, 0u);
}

/// The program names its memory before it uses it, in a single section.
void expect_annotations(const own_words& said, const json& profile) {
    const std::uint64_t faults = said.stats[0].deviceFaults + said.stats[1].deviceFaults;
    ASSERT_EQ(profile["names"].size(), 1u) << profile["names"];
    const json& memory = profile["names"][0];
    EXPECT_EQ(memory["name"], "observed memory");
    EXPECT_GT(memory["device_faults"], 0u);
    EXPECT_LE(memory["device_faults"], faults);
    EXPECT_EQ(memory["cpu_faults"], said.stats[0].cpuFaults);
    ASSERT_EQ(profile["sections"].size(), 1u) << profile["sections"];
    const json& section = profile["sections"][0];
    EXPECT_EQ(section["name"], "use devices");
    EXPECT_EQ(section["count"], 1);
    EXPECT_GT(section["nanoseconds"], 0u);
    EXPECT_GE(section["device_faults"], memory["device_faults"]);
    EXPECT_LE(section["device_faults"], faults);
    EXPECT_EQ(profile["types"]["mark"]["recorded"], 1);
}

TEST_F(Events, OfAProfileAreWhatTheProgramCounts) {
    const own_words said = run_counted({"profile", "--json"});
    const json found = profile();
    expect_same(said, found);
    expect_annotations(said, found);
}

TEST_F(Events, AccessesAreRecordedOnRequest) {
    run_counted({"trace", "record"});
    EXPECT_EQ(report()["types"]["access"]["recorded"], 0);
    const own_words said = run_counted({"trace", "record", "--accesses"});
    const json found = report();
    expect_same(said, found);
    EXPECT_GT(found["types"]["access"]["recorded"], said.stats[0].deviceFaults);
}

TEST_F(Events, PageOfAProfileHasTheSameNumbers) {
    const fs::path html = folder_ / "page";
    run_counted({"profile", "--json", "--html", html});
    const json found = profile();
    std::ifstream file(html, std::ios::binary);
    const std::string written(std::istreambuf_iterator<char>(file), {});
    const std::string opening = "<script id=\"data\" type=\"application/json\">";
    const std::size_t begin = written.find(opening) + opening.size();
    const std::size_t end = written.find("</script>", begin);
    ASSERT_NE(end, std::string::npos) << written.size();
    const json data = json::parse(written.substr(begin, end - begin), nullptr, false);
    EXPECT_EQ(data["profile"], found);
    std::uint64_t faults = 0;
    for (const json& device : data["timeline"]["devices"])
        for (const json& number : device["device_faults"])
            faults += number.get<std::uint64_t>();
    EXPECT_EQ(faults, found["types"]["device_fault"]["recorded"].get<std::uint64_t>());
}

TEST_F(Events, SummaryForOtherToolsHasTheNumbersOfTheProfile) {
    const fs::path path = folder_ / "summary";
    run_counted({"profile", "--json", "--rocprof-sys", path});
    const json found = profile();
    std::ifstream file(path, std::ios::binary);
    const json summary = json::parse(file, nullptr, false);
    ASSERT_TRUE(summary.is_object());
    EXPECT_EQ(summary["summary"]["total_page_faults"], found["types"]["device_fault"]["recorded"]);
    ASSERT_EQ(summary["devices"].size(), 2u) << summary;
    for (unsigned i = 0; i < 2; i++)
        for (const char* direction : {"host_to_device", "device_to_host"}) {
            const json& of = summary["devices"][i]["migrations"][direction];
            EXPECT_EQ(of["total_size_bytes"], found["devices"][i][direction]["bytes"]) << of;
            EXPECT_EQ(of["count"], found["devices"][i][direction]["count"]) << of;
        }
}

TEST_F(Events, AndTheirSumsNeedAFileEach) {
    const auto refused = [&](const words& files) {
        words all = {"profile"};
        all.insert(all.end(), files.begin(), files.end());
        all.insert(all.end(), {"--", "/bin/touch", folder_ / "has-run"});
        const result found = run_hmmctl(all);
        EXPECT_EQ(found.status, 1);
        EXPECT_FALSE(fs::exists(folder_ / "has-run"));
        return found.err;
    };
    const auto names = [&](const std::string& why, const std::string& option) {
        EXPECT_NE(why.find(file_ + " is already in use"), std::string::npos) << why;
        EXPECT_NE(why.find(option + " a different file"), std::string::npos) << why;
    };
    names(refused({"-o", file_, "--html", file_}), "--html");
    names(refused({"-o", file_, "--rocprof-sys", file_}), "--rocprof-sys");
    names(refused({"--html", file_, "--rocprof-sys", file_}), "--rocprof-sys");
}

TEST_F(Events, OfARecordingAreWhatTheProgramCounts) {
    const own_words said = run_counted({"trace", "record"});
    const json found = report();
    EXPECT_EQ(found["complete"], true);
    EXPECT_EQ(found["command"], (json{counted_program, "--counted"}));
    expect_same(said, found);
}

/// The program allocates all memory for its devices at one place in the code.
TEST_F(Events, HaveThePlaceWhereMemoryIsAllocated) {
    for (const bool in_trace : {false, true}) {
        SCOPED_TRACE(in_trace ? "trace" : "profile");
        json found;
        if (in_trace) {
            run_counted({"trace", "record", "--allocations"});
            found = report();
        } else {
            run_counted({"profile", "--json", "--allocations"});
            found = profile();
        }
        EXPECT_EQ(found["dropped_allocations"], 0);
        ASSERT_FALSE(found["allocations"].empty()) << found["code"];
        const json& most = found["allocations"][0];
        EXPECT_EQ(most["device_faults"], found["names"][0]["device_faults"]);
        EXPECT_EQ(most["cpu_faults"], found["names"][0]["cpu_faults"]);
        EXPECT_GE(most["bytes"], 4 << 20);
        const std::string place = most["calls"][0]["place"];
        EXPECT_NE(place.find("observed_program.cpp:"), std::string::npos) << most;
    }
}

TEST_F(Events, OfCodeNameItsFunctionAndLine) {
    run_counted({"profile", "--json"});
    const json code = profile()["code"];
    ASSERT_FALSE(code.empty());
    for (const json& one : code) {
        EXPECT_NE(one["addr"], 0);
        EXPECT_NE(one["place"], "");
    }
    const auto is_ours = [](const json& one) {
        return one["place"].get<std::string>().find("observed_program.cpp:") != std::string::npos ||
               one["function"].get<std::string>().find("use_devices") != std::string::npos;
    };
    EXPECT_TRUE(std::any_of(code.begin(), code.end(), is_ours)) << code;
}

TEST_F(Events, HavePhasesThatAddUpToTheirTime) {
    run_counted({"trace", "record"});
    const json events = recorded_events();
    unsigned faults = 0;
    for (const json& event : events) {
        if (event["type"] != "device_fault" && event["type"] != "cpu_fault") continue;
        std::uint64_t sum = 0;
        for (const auto& [name, nanoseconds] : event["phases"].items())
            sum += nanoseconds.get<std::uint64_t>();
        EXPECT_EQ(sum, event["duration"]) << event;
        faults++;
    }
    EXPECT_GT(faults, 0u);
}

TEST_F(Events, AreExportedInEachFormat) {
    run_counted({"trace", "record"});
    const std::size_t number = report()["events"];
    EXPECT_EQ(recorded_events().size(), number);
    const json chrome = json_of({"trace", "export", file_})["traceEvents"];
    EXPECT_EQ(std::count_if(chrome.begin(), chrome.end(),
                            [](const json& one) { return one["ph"] == "X" || one["ph"] == "i"; }),
              static_cast<std::ptrdiff_t>(number));
    const std::string csv = run_hmmctl({"trace", "export", file_, "--format", "csv"}).out;
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), static_cast<std::ptrdiff_t>(number + 1));
    const json summary = json_of({"trace", "export", file_, "--format", "rocprof-sys"})["summary"];
    EXPECT_EQ(summary["total_page_faults"], report()["types"]["device_fault"]["recorded"]);
    const std::string text = run_hmmctl({"trace", "report", file_}).out;
    EXPECT_NE(text.find("Host To Device\n"), std::string::npos) << text;
}

/// Waits until a recording to that file has begun.
void await_recording(const std::string& file) {
    std::error_code error;
    for (int i = 0; i < 300; i++, usleep(100000))
        if (fs::file_size(file, error) > 0 && !error) return;
    ADD_FAILURE() << "no recording began";
}

TEST_F(Events, OfAProcessAreThoseFromNowToItsEnd) {
    auto program = std::make_unique<observed>();
    const own_words before = program->ask();
    own_words after = {};
    const words arguments = {"trace", "record", "-o",
                             file_,   "--pid",  std::to_string(program->pid())};
    const result found = run_hmmctl(arguments, {.beside = [&](pid_t) {
                                        await_recording(file_);
                                        after = program->use();
                                        program.reset();
                                    }});
    EXPECT_EQ(found.status, 0) << found.err;
    const json sums = report();
    EXPECT_EQ(sums["command"], json::array());
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(sums["devices"][i]["device_faults"]["count"],
                  after.stats[i].deviceFaults - before.stats[i].deviceFaults);
    EXPECT_EQ(sums["cpu_faults"]["count"], after.stats[0].cpuFaults - before.stats[0].cpuFaults);
    EXPECT_GT(after.stats[0].deviceFaults, before.stats[0].deviceFaults);
}

TEST_F(Events, OfTheMachineAreThoseOfAllProcessesUntilASignal) {
    std::uint64_t faults = 0;
    pid_t pid = 0;
    const result found =
        run_hmmctl({"trace", "record", "-o", file_, "--machine"}, {.beside = [&](pid_t hmmctl) {
                       await_recording(file_);
                       const observed program;
                       pid = program.pid();
                       faults = program.ask().stats[0].deviceFaults;
                       kill(hmmctl, SIGINT);
                   }});
    EXPECT_EQ(found.status, 0) << found.err;
    const json events = recorded_events();
    const auto is_of_program = [&](const json& event) {
        return event["type"] == "device_fault" && event.value("device", -1) == 0 &&
               event.value("pid", 0) == pid;
    };
    EXPECT_EQ(
        static_cast<std::uint64_t>(std::count_if(events.begin(), events.end(), is_of_program)),
        faults);
}

TEST_F(Events, OfDescendantsAreRecorded) {
    const std::string command = "(" + counted_program + " --counted & wait) >/dev/null; exit 7";
    const result found =
        run_hmmctl({"profile", "--json", "-o", file_, "--", "/bin/sh", "-c", command});
    EXPECT_EQ(found.status, 7) << found.err;
    EXPECT_EQ(profile()["devices"].size(), 2u);
}

TEST_F(Events, OfOtherProcessesAreNotRecorded) {
    const observed program;
    const json found =
        answer_in(run_hmmctl({"profile", "--json", "--", "/bin/true"}).out, "profile");
    EXPECT_EQ(found["profile"]["events"], 0) << found;
}

TEST_F(Events, HaveTheStatusOfTheCommand) {
    const auto status_of = [&](const std::string& script) {
        return run_hmmctl({"trace", "record", "-o", file_, "--", "/bin/sh", "-c", script}).status;
    };
    EXPECT_EQ(status_of("exit 0"), 0);
    EXPECT_EQ(status_of("exit 9"), 9);
    EXPECT_EQ(status_of("kill -TERM $$"), 128 + 15);
    const result found = run_hmmctl({"profile", "--", "/no/such/program"});
    EXPECT_EQ(found.status, 1);
    EXPECT_EQ(found.out, "");
    EXPECT_EQ(found.err, "hmmctl: cannot start /no/such/program: No such file or directory\n");
}

TEST_F(Events, NeedPermission) {
    const observed program;
    const std::string pid = std::to_string(program.pid());
    for (const words& arguments : {words{"--machine"}, words{"--pid", pid}, words{"--", "true"}}) {
        words all = {"trace", "record", "-o", "/tmp/hmmctl-refused"};
        all.insert(all.end(), arguments.begin(), arguments.end());
        const result found = run_hmmctl(all, {.uid = other_user});
        EXPECT_EQ(found.status, 1) << arguments[0];
        EXPECT_NE(found.err.find("no permission"), std::string::npos) << found.err;
        EXPECT_FALSE(fs::exists("/tmp/hmmctl-refused"));
    }
}

TEST_F(Events, OfWhatIsNoProcessOfHmmrtAreAFailure) {
    const result found =
        run_hmmctl({"trace", "record", "-o", file_, "--pid", std::to_string(getpid())});
    EXPECT_EQ(found.status, 1);
    EXPECT_EQ(found.err, "hmmctl: process " + std::to_string(getpid()) + " does not use hmmrt\n");
}

TEST_F(Events, OfDamagedFilesAreAFailure) {
    std::ofstream(file_) << "no trace";
    for (const words& arguments : {words{"report", file_}, words{"export", file_}}) {
        words all = {"trace"};
        all.insert(all.end(), arguments.begin(), arguments.end());
        const result found = run_hmmctl(all);
        EXPECT_EQ(found.status, 1);
        EXPECT_EQ(found.out, "");
        EXPECT_NE(found.err.find(file_ + ": not a trace"), std::string::npos) << found.err;
    }
}

TEST(Top, ListsProcesses) {
    const observed program;
    const result found = run_hmmctl({"top", "--interval", "0.1", "--count", "2"});
    EXPECT_EQ(found.status, 0) << found.err;
    std::size_t tables = 0;
    for (std::size_t at = 0; (at = found.out.find("PID", at)) != std::string::npos; at++)
        tables++;
    EXPECT_EQ(tables, 2u) << found.out;
    EXPECT_NE(found.out.find(std::to_string(program.pid())), std::string::npos) << found.out;
}

} // namespace
