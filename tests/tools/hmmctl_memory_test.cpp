// SPDX-License-Identifier: MIT
// hmmctl shows another process's memory as that process has set it up.
#include "hmmctl_run.hpp"
#include "observed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace {

using nlohmann::json;

constexpr std::uint64_t part = 2 << 20, pages_of_part = part / 4096;

/// Returns the range that begins there, or null.
json range_at(const json& answer, std::uint64_t start) {
    for (const json& range : answer["ranges"])
        if (range["start"] == start) return range;
    return {};
}

TEST(Range, ListHasWhatTheProgramLaidOut) {
    const observed program;
    const std::uint64_t start = program.lay_out().laid_out;
    const json answer = json_of({"range", "list", std::to_string(program.pid())});
    EXPECT_EQ(fields_of(answer),
              (std::set<std::string>{"schema", "pid", "page_bytes", "ranges", "changed_mappings"}));
    EXPECT_EQ(answer["pid"], program.pid());
    EXPECT_EQ(answer["page_bytes"], 4096);

    const json moved = range_at(answer, start);
    ASSERT_TRUE(moved.is_object()) << answer;
    EXPECT_EQ(moved["bytes"], part);
    EXPECT_EQ(moved["end"], start + part);
    EXPECT_EQ(moved["pages"]["total"], pages_of_part);
    EXPECT_EQ(moved["pages"]["host"], 0);
    ASSERT_EQ(moved["pages"]["devices"].size(), 1u) << moved;
    const json& device = moved["pages"]["devices"][0];
    EXPECT_EQ(fields_of(device), (std::set<std::string>{"id", "pages", "duplicates", "mapped"}));
    EXPECT_EQ(device["id"], 0);
    EXPECT_EQ(device["pages"], pages_of_part);
    EXPECT_EQ(device["duplicates"], 0);
    EXPECT_EQ(moved["advice"]["last_prefetch"], "device 0");
    EXPECT_EQ(moved["advice"]["preferred_location"], json());

    // not listed, because only the CPU has used it
    EXPECT_EQ(range_at(answer, start + part), json()) << answer;

    const json advised = range_at(answer, start + 2 * part);
    ASSERT_TRUE(advised.is_object()) << answer;
    EXPECT_EQ(advised["pages"]["untouched"], pages_of_part);
    EXPECT_EQ(advised["pages"]["devices"], json::array());
    EXPECT_EQ(advised["advice"], (json{{"read_mostly", false},
                                       {"no_migrate", false},
                                       {"preferred_location", "device 1"},
                                       {"accessed_by", json::array()},
                                       {"granularity", json()},
                                       {"last_prefetch", json()}}));
}

TEST(Range, ListCountsAllDeviceMemoryOfTheProcess) {
    const observed program;
    const own_words words = program.lay_out();
    const json answer = json_of({"range", "list", std::to_string(program.pid())});
    std::uint64_t found[2] = {};
    for (const json& range : answer["ranges"])
        for (const json& device : range["pages"]["devices"])
            found[device["id"].get<unsigned>()] +=
                device["pages"].get<std::uint64_t>() + device["duplicates"].get<std::uint64_t>();
    for (unsigned id = 0; id < 2; id++)
        EXPECT_EQ(found[id] * 4096, words.used_bytes[id]) << "device " << id << answer;
}

TEST(Range, ListMovesNothing) {
    const observed program;
    const own_words before = program.lay_out();
    const std::string pid = std::to_string(program.pid());
    EXPECT_EQ(run_hmmctl({"range", "list", pid}).status, 0);
    const own_words after = program.ask();
    for (unsigned id = 0; id < 2; id++) {
        EXPECT_EQ(after.used_bytes[id], before.used_bytes[id]);
        EXPECT_EQ(after.stats[id].pagesToDevice, before.stats[id].pagesToDevice);
    }
    EXPECT_EQ(after.stats[0].pagesToHost, before.stats[0].pagesToHost);
}

TEST(Range, ListIsATableWithoutJson) {
    const observed program;
    program.lay_out();
    const result found = run_hmmctl({"range", "list", std::to_string(program.pid())});
    EXPECT_EQ(found.status, 0);
    EXPECT_TRUE(found.out.starts_with("RANGE ")) << found.out;
    EXPECT_NE(found.out.find("  preferred device 1\n"), std::string::npos) << found.out;
    EXPECT_NE(found.out.find("  prefetched to device 0\n"), std::string::npos) << found.out;
}

/// Returns how many pages of a part are in each place.
std::map<std::string, std::uint64_t> places_of(const json& answer, std::uint64_t start) {
    std::map<std::string, std::uint64_t> found;
    for (const json& region : answer["regions"])
        for (const json& run : region["runs"]) {
            const auto first = run["start"].get<std::uint64_t>();
            const auto end = first + run["pages"].get<std::uint64_t>() * 4096;
            const std::uint64_t from = std::max(first, start), to = std::min(end, start + part);
            if (from < to) found[run["place"].get<std::string>()] += (to - from) / 4096;
        }
    return found;
}

TEST(Residency, HasWhatTheProgramLaidOut) {
    using places = std::map<std::string, std::uint64_t>;
    const observed program;
    const std::uint64_t start = program.lay_out().laid_out;
    const json answer = json_of({"residency", std::to_string(program.pid())});
    EXPECT_EQ(fields_of(answer), (std::set<std::string>{"schema", "pid", "page_bytes", "regions",
                                                        "pages", "changed_mappings"}));
    EXPECT_EQ(answer["pid"], program.pid());
    EXPECT_EQ(fields_of(answer["regions"][0]),
              (std::set<std::string>{"start", "end", "bytes", "name", "runs"}));
    EXPECT_EQ(places_of(answer, start), (places{{"device 0", pages_of_part}}));
    EXPECT_EQ(places_of(answer, start + part), (places{{"host", pages_of_part}}));
    EXPECT_EQ(places_of(answer, start + 2 * part), (places{{"untouched", pages_of_part}}));
    EXPECT_GT(answer["pages"]["duplicated"], 0);
}

TEST(Residency, ShowsFilesInSystemMemoryIfAllAreWanted) {
    const observed program;
    const auto has_libc = [](const json& answer) {
        return std::any_of(
            answer["regions"].begin(), answer["regions"].end(), [](const json& region) {
                return region["name"].get<std::string>().find("libc.so") != std::string::npos;
            });
    };
    const std::string pid = std::to_string(program.pid());
    const json few = json_of({"residency", pid}), all = json_of({"residency", pid, "--all"});
    EXPECT_LT(few["regions"].size(), all["regions"].size());
    EXPECT_TRUE(has_libc(all));
}

/// Returns the lines without colours, and counts the colours.
std::vector<std::string> lines_of(const std::string& text, std::size_t& colours) {
    const std::regex colour("\033\\[[0-9;]*m");
    colours = static_cast<std::size_t>(
        std::distance(std::sregex_iterator(text.begin(), text.end(), colour), {}));
    std::istringstream in(std::regex_replace(text, colour, ""));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
        if (line.ends_with('\r')) line.pop_back();
        lines.push_back(line);
    }
    return lines;
}

/// Expects rows of cells that don't exceed the width.
void expect_at_most(const std::vector<std::string>& lines, std::size_t width) {
    const std::regex row("[0-9a-f]{12}  [0-9a-fHDX.]+");
    std::size_t longest = 0;
    for (const std::string& line : lines)
        if (std::regex_match(line, row)) longest = std::max(longest, line.size());
    EXPECT_GT(longest, 0u);
    EXPECT_LE(longest, width);
}

TEST(Residency, DrawsAMap) {
    const observed program;
    program.lay_out();
    const result found = run_hmmctl({"residency", std::to_string(program.pid()), "--width", "60"});
    EXPECT_EQ(found.status, 0) << found.err;
    std::size_t colours = 0;
    expect_at_most(lines_of(found.out, colours), 60);
    EXPECT_EQ(colours, 0u);
    EXPECT_NE(found.out.find("\n0  device 0: "), std::string::npos) << found.out;
}

/// Runs hmmctl on a terminal with 50 columns. Returns its output there.
std::string on_terminal(const std::vector<std::string>& arguments,
                        const std::vector<std::string>& environment) {
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    const winsize size = {.ws_row = 24, .ws_col = 50, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_TRUE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    EXPECT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
    std::string text;
    const auto read_all = [&](pid_t) {
        char buffer[4096];
        // read() fails when the last writer has exited
        for (ssize_t got = 0; (got = read(terminal, buffer, sizeof(buffer))) > 0;)
            text.append(buffer, static_cast<std::size_t>(got));
    };
    const std::string name = ptsname(terminal);
    const result found = run_hmmctl(
        arguments, {.out = name.c_str(), .environment = environment, .beside = read_all});
    EXPECT_EQ(found.status, 0) << found.err;
    close(terminal);
    return text;
}

TEST(Residency, FitsTheTerminalAndHasColoursThere) {
    const observed program;
    program.lay_out();
    const std::vector<std::string> command = {"residency", std::to_string(program.pid())};
    std::size_t colours = 0;
    const auto with_width = [&](const char* width) {
        std::vector<std::string> arguments = command;
        arguments.insert(arguments.end(), {"--width", width});
        return lines_of(run_hmmctl(arguments).out, colours);
    };
    const std::vector<std::string> fitting = with_width("50");
    EXPECT_EQ(colours, 0u);
    EXPECT_NE(fitting, with_width("80")) << "the width does not matter to this map";
    EXPECT_EQ(lines_of(on_terminal(command, {}), colours), fitting);
    EXPECT_GT(colours, 0u);
    EXPECT_EQ(lines_of(on_terminal(command, {"NO_COLOR=1"}), colours), fitting);
    EXPECT_EQ(colours, 0u);
    lines_of(on_terminal(command, {"NO_COLOR="}), colours);
    EXPECT_GT(colours, 0u);
}

class About : public testing::TestWithParam<std::vector<std::string>> {};

/// Runs the command on a process.
result run_on(std::vector<std::string> arguments, pid_t pid, const manner& how = {}) {
    arguments.push_back(std::to_string(pid));
    return run_hmmctl(arguments, how);
}

TEST_P(About, ProcessOfAnotherUserIsAFailure) {
    const observed program;
    const result found = run_on(GetParam(), program.pid(), {.uid = other_user});
    EXPECT_EQ(found.status, 1);
    EXPECT_EQ(found.out, "");
    EXPECT_NE(found.err.find("no permission to inspect process"), std::string::npos) << found.err;
}

TEST_P(About, ProcessThatDoesNotUseADeviceIsAFailure) {
    const result found = run_on(GetParam(), getpid());
    EXPECT_EQ(found.status, 1);
    EXPECT_EQ(found.out, "");
    EXPECT_EQ(found.err, "hmmctl: process " + std::to_string(getpid()) + " does not use hmmrt\n");
}

TEST_P(About, ProcessThatIsNotThereIsAFailure) {
    const result found = run_on(GetParam(), 2147483647);
    EXPECT_EQ(found.status, 1);
    EXPECT_NE(found.err.find("process 2147483647 does not exist"), std::string::npos) << found.err;
}

INSTANTIATE_TEST_SUITE_P(, About,
                         testing::Values(std::vector<std::string>{"range", "list"},
                                         std::vector<std::string>{"residency"}));

} // namespace
