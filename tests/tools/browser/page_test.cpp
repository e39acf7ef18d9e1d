// SPDX-License-Identifier: MIT
// A browser shows the HTML report of hmmctl. It reports no error, has all elements, and draws with
// the colours of the page. Pages that are broken on purpose are found to be so.
#include "page_trace.hpp"

#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

extern "C" { // the header of glibc 2.36 does not say so itself
#include <sys/pidfd.h>
}

extern char** environ;

namespace {

using texts = std::vector<std::string>;

// ---- files

std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (!file) throw std::runtime_error("cannot read " + path);
    return text;
}

void write(const std::string& path, std::string_view text) {
    std::ofstream file(path, std::ios::binary);
    if (!(file << text << std::flush)) throw std::runtime_error("cannot write " + path);
}

/// Returns the text with the first @old replaced.
std::string changed(std::string text, std::string_view old, std::string_view by) {
    const std::size_t at = text.find(old);
    if (at == std::string::npos) throw std::runtime_error("the page lacks " + std::string(old));
    return text.replace(at, old.size(), by);
}

/// A folder that is removed with all that is in it.
class temporary_folder {
  public:
    temporary_folder() : path_(std::filesystem::temp_directory_path() / "hmmctl-page-XXXXXX") {
        if (!mkdtemp(path_.data())) throw std::system_error(errno, std::generic_category(), path_);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder() {
        std::error_code error;
        std::filesystem::remove_all(path_, error);
        EXPECT_FALSE(error) << path_ << ": " << error.message();
    }

    std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  private:
    std::string path_;
};

// ---- programs

struct output {
    std::string out, err;
};

std::vector<char*> pointers_to(texts& words) {
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// Starts a command in a process group of its own.
pid_t start(texts command, texts environment, const std::string& out, const std::string& err) {
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), flags, 0600);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), flags, 0600);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t process = 0;
    const int error = posix_spawnp(&process, command[0].c_str(), &files, &attributes,
                                   pointers_to(command).data(), pointers_to(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error == ENOENT && command[0] == "chromium")
        throw std::runtime_error("chromium is missing: install the Debian package chromium");
    if (error != 0) throw std::system_error(error, std::generic_category(), command[0]);
    return process;
}

/// Returns true if the process ends in time.
bool ends(pid_t process, int seconds) {
    const int file = pidfd_open(process, 0);
    if (file < 0) throw std::system_error(errno, std::generic_category(), "pidfd_open");
    pollfd watched = {file, POLLIN, 0};
    const int ready = poll(&watched, 1, seconds * 1000);
    close(file);
    return ready == 1;
}

class takes_too_long : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Waits for what a process that was killed has left; this process is its reaper.
void reap_all() {
    constexpr int tries = 1000;
    for (int i = 0; i < tries; i++) {
        const pid_t ended = waitpid(-1, nullptr, WNOHANG);
        if (ended < 0) return;
        if (ended == 0) usleep(10'000);
    }
    throw std::runtime_error("a process of the command does not end");
}

/// Runs a command that succeeds. None of its processes is left afterwards: they could still write
/// to the folder.
output run(const texts& command, const texts& environment, const temporary_folder& folder) {
    constexpr int time_limit = 45; // seconds
    const std::string out = folder / "out", err = folder / "err";
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        throw std::system_error(errno, std::generic_category(), "prctl");
    const pid_t process = start(command, environment, out, err);
    const bool ended = ends(process, time_limit);
    kill(-process, SIGKILL); // the process is not waited for, so the number is still its own
    int status = 0;
    waitpid(process, &status, 0);
    reap_all();
    output made = {contents_of(out), contents_of(err)};
    if (!ended) throw takes_too_long(command[0] + " takes too long:\n" + made.err);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw std::runtime_error(command[0] + " fails:\n" + made.err);
    return made;
}

texts own_environment() {
    texts variables;
    for (char** each = environ; *each; each++)
        variables.emplace_back(*each);
    return variables;
}

/// Shows a page; @options say what to write of it. The browser gets no variables of a desktop,
/// where it would look for services.
output browse(const std::string& page, const temporary_folder& folder, const texts& options) {
    texts command = {"chromium",
                     "--headless",
                     "--no-sandbox",
                     "--disable-gpu",
                     "--disable-dev-shm-usage",
                     "--no-first-run",
                     "--disable-extensions",
                     "--disable-background-networking",
                     "--enable-logging=stderr",
                     "--log-level=0",
                     "--window-size=1280,2600",
                     "--user-data-dir=" + folder / "profile"};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back("file://" + page);
    const char* const path = std::getenv("PATH");
    const texts environment = {std::string("PATH=") + (path ? path : "/usr/bin:/bin"),
                               "HOME=" + folder / "", "TMPDIR=" + folder / ""};
    // one start of about ten hangs before the browser has shown anything
    try {
        return run(command, environment, folder);
    } catch (const takes_too_long&) {
        std::filesystem::remove_all(folder / "profile");
        return run(command, environment, folder);
    }
}

// ---- elements

struct element {
    std::string name;
    std::map<std::string, std::string> attributes;
};

/// Returns the text before the first of the characters @ends, and removes it from the text.
std::string taken(std::string_view& text, std::string_view ends) {
    const std::string front(text.substr(0, text.find_first_of(ends)));
    text.remove_prefix(front.size());
    return front;
}

/// Returns the element at the start of the text, which is behind a `<`, and removes all but the
/// `>`. The browser writes values of attributes in double quotes.
element taken_tag(std::string_view& text) {
    element found = {taken(text, " \n>"), {}};
    while (!text.empty() && text.front() != '>') {
        const std::string name = taken(text, "= \n>");
        std::string value;
        if (text.starts_with("=\"")) {
            text.remove_prefix(2);
            value = taken(text, "\"");
        }
        if (!name.empty()) found.attributes[name] = value;
        if (!text.empty() && text.front() != '>') text.remove_prefix(1);
    }
    return found;
}

/// Returns the start tags, and the end tags with their `/`, of a document. What is in scripts and
/// styles is text.
std::vector<element> tags_of(std::string_view text) {
    std::vector<element> tags;
    const auto skip_to = [&](std::string_view what) {
        text.remove_prefix(std::min(text.find(what), text.size()));
    };
    for (skip_to("<"); !text.empty(); skip_to("<")) {
        if (text.starts_with("<!--")) {
            skip_to("-->");
            continue;
        }
        text.remove_prefix(1);
        tags.push_back(taken_tag(text));
        for (const std::string name : {"script", "style"})
            if (tags.back().name == name) skip_to("</" + name);
    }
    return tags;
}

// ---- what a page has

const texts kinds = {"ping_pong", "read_by_several", "oversubscription", "sequential_faults"};

/// A section, the name of an element, and how often the section has it at least.
struct required {
    std::string section, name;
    std::size_t least;
};
const std::vector<required> elements = {
    {"summary", "table", 2},   {"summary", "td", 14}, {"suggestions", "pre", kinds.size()},
    {"timeline", "svg", 6}, // three for each device
    {"timeline", "rect", 100}, {"heat", "canvas", 1}, {"heat", "input", 5},
    {"blocks", "td", 60},      {"code", "td", 5},     {"allocations", "td", 8},
    {"text", "pre", 1},
};

using colour = std::array<std::uint8_t, 3>;

/// Charts have the colours of device faults, CPU faults, memory moved to devices, and evictions in
/// the timeline, and of pages on devices in the map of blocks.
const std::vector<colour> colours = {{0xd9, 0x73, 0x0d},
                                     {0x1f, 0x6f, 0xb5},
                                     {0x2e, 0x8b, 0x57},
                                     {0xb8, 0x32, 0x4a},
                                     {0xdf, 0xe6, 0xee}};
constexpr std::size_t least_pixels = 500;

texts errors_in(const std::string& log) {
    texts errors;
    for (std::string_view rest = log; !rest.empty();) {
        std::string line = taken(rest, "\n");
        rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
        for (const char* const sign : {"CONSOLE:", "CONSOLE(", "Uncaught"})
            if (line.find(sign) != std::string::npos) {
                errors.push_back(std::move(line));
                break;
            }
    }
    return errors;
}

/// Returns what is wrong with the document and the log of a page that the browser has shown.
texts problems_of(const std::string& document, const std::string& log) {
    texts problems = errors_in(log);
    std::map<std::pair<std::string, std::string>, std::size_t> counts;
    std::map<std::string, std::size_t> advice;
    std::string section;
    bool drawn = false;
    for (element& tag : tags_of(document)) {
        if (tag.name == "section") section = tag.attributes["id"];
        if (tag.name == "/section") section.clear();
        if (tag.name == "html") drawn = tag.attributes["data-drawn"] == "yes";
        if (tag.attributes.contains("data-kind")) advice[tag.attributes["data-kind"]]++;
        counts[{section, tag.name}]++;
    }
    if (!drawn) problems.emplace_back("the script did not reach its end");
    for (const auto& [where, name, least] : elements)
        if (const std::size_t number = counts[{where, name}]; number < least)
            problems.push_back("section " + where + " has " + std::to_string(number) + " <" + name +
                               ">, not " + std::to_string(least));
    for (const std::string& kind : kinds)
        if (!advice.contains(kind)) problems.push_back("there is no advice about " + kind);
    if (counts[{"", "b"}] + counts[{"text", "b"}] > 0) problems.emplace_back("a name became HTML");
    return problems;
}

/// Returns the colours that a picture lacks.
std::vector<colour> colours_missing(const std::string& picture) {
    png_image image = {};
    image.version = PNG_IMAGE_VERSION;
    png_image_begin_read_from_file(&image, picture.c_str());
    image.format = PNG_FORMAT_RGB;
    std::vector<std::uint8_t> bytes(PNG_IMAGE_SIZE(image));
    if (PNG_IMAGE_FAILED(image) ||
        !png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr)) {
        png_image_free(&image);
        throw std::runtime_error(picture + ": " + image.message);
    }
    std::map<colour, std::size_t> pixels;
    for (std::size_t i = 0; i + 2 < bytes.size(); i += 3)
        pixels[{bytes[i], bytes[i + 1], bytes[i + 2]}]++;
    std::vector<colour> missing;
    std::copy_if(colours.begin(), colours.end(), std::back_inserter(missing),
                 [&](const colour& one) { return pixels[one] < least_pixels; });
    return missing;
}

// ---- tests

/// For pictures: what has the colours of charts and is no chart is not shown.
const std::string only_charts = ".legend, .advice { display: none; }";

class PageInABrowser : public testing::Test {
  public:
    PageInABrowser() {
        const std::string trace = folder / "trace", page = folder / "report.html";
        write_page_trace(trace);
        run({HMMCTL, "trace", "report", "--html", page, trace}, own_environment(), folder);
        report = contents_of(page);
    }

    /// Shows a page with a further style, and returns its document and its log.
    output show(const std::string& page, const std::string& style = only_charts) {
        write(folder / "page.html", changed(page, "</style>", style + "</style>"));
        return browse(folder / "page.html", folder, {"--dump-dom", "--screenshot=" + picture});
    }

    const temporary_folder folder;
    const std::string picture = folder / "picture.png";
    std::string report; ///< the page that hmmctl writes
};

bool has(const texts& problems, std::string_view part) {
    return std::any_of(problems.begin(), problems.end(),
                       [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

TEST_F(PageInABrowser, HasAllElementsAndColoursAndNoError) {
    const output shown = show(report);
    EXPECT_EQ(problems_of(shown.out, shown.err), texts());
    EXPECT_EQ(colours_missing(picture), std::vector<colour>());

    // what the document has is found to be missing if it is taken away
    const auto problems_if = [&](std::string_view old, std::string_view by) {
        return problems_of(changed(shown.out, old, by), "");
    };
    EXPECT_EQ(problems_if("data-drawn=\"yes\"", ""), texts{"the script did not reach its end"});
    EXPECT_EQ(problems_if("data-kind=\"oversubscription\"", ""),
              texts{"there is no advice about oversubscription"});
    EXPECT_EQ(problems_if("<h1>", "<h1><b>"), texts{"a name became HTML"});
}

TEST_F(PageInABrowser, IsFoundBrokenByAnErrorOfItsScriptAndByAMissingElement) {
    const std::string less = changed(report, "drawSuggestions, drawTimeline,", "drawSuggestions,");
    const output shown =
        show(changed(less, "'use strict';", "'use strict'; setTimeout(() => missing());"));
    const texts problems = problems_of(shown.out, shown.err);
    EXPECT_TRUE(has(problems, "missing is not defined")) << testing::PrintToString(problems);
    EXPECT_TRUE(has(problems, "section timeline has 0 <svg>")) << testing::PrintToString(problems);
}

TEST_F(PageInABrowser, IsFoundBrokenWithoutCharts) {
    show(report, only_charts + " svg, canvas { visibility: hidden; }");
    EXPECT_EQ(colours_missing(picture), colours);
}

} // namespace
