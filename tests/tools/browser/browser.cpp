// SPDX-License-Identifier: MIT
#include "browser.hpp"

#include "lib/files.hpp"
#include "lib/spawn.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

extern "C" { // missing in the header of glibc 2.36
#include <sys/pidfd.h>
}

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

std::string changed(std::string text, std::string_view old, std::string_view by) {
    const std::size_t at = text.find(old);
    if (at == std::string::npos) throw std::runtime_error("the text lacks " + std::string(old));
    return text.replace(at, old.size(), by);
}

temporary_folder::temporary_folder()
    : path_(std::filesystem::temp_directory_path() / "hmmctl-page-XXXXXX") {
    if (!mkdtemp(path_.data())) throw std::system_error(errno, std::generic_category(), path_);
}

temporary_folder::~temporary_folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    EXPECT_FALSE(error) << path_ << ": " << error.message();
}

// ---- programs

namespace {

/// Starts a command in a process group of its own.
pid_t start(const texts& command, const texts& environment, const std::string& out,
            const std::string& err) {
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    const tools::descriptor nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const tools::descriptor to_out(open(out.c_str(), flags, 0600));
    const tools::descriptor to_err(open(err.c_str(), flags, 0600));
    try {
        return tools::start(command, {.environment = environment,
                                      .in = nothing.get(),
                                      .out = to_out.get(),
                                      .err = to_err.get(),
                                      .new_group = true});
    } catch (const std::system_error& error) {
        if (error.code() == std::errc::no_such_file_or_directory && command[0] == "chromium")
            throw std::runtime_error("chromium is missing: install the Debian package chromium");
        throw;
    }
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

/// Waits for the orphans of a killed process. This process is their subreaper.
void reap_all() {
    constexpr int tries = 1000;
    for (int i = 0; i < tries; i++) {
        const pid_t ended = waitpid(-1, nullptr, WNOHANG);
        if (ended < 0) return;
        if (ended == 0) usleep(10'000);
    }
    throw std::runtime_error("a process of the command does not end");
}

} // namespace

output run(const texts& command, const texts& environment, const temporary_folder& folder) {
    constexpr int time_limit = 45; // seconds
    const std::string out = folder / "out", err = folder / "err";
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        throw std::system_error(errno, std::generic_category(), "prctl");
    const pid_t process = start(command, environment, out, err);
    const bool ended = ends(process, time_limit);
    kill(-process, SIGKILL); // not reaped yet, so the id is still valid
    int status = 0;
    waitpid(process, &status, 0);
    reap_all();
    output made = {contents_of(out), contents_of(err)};
    if (!ended) throw takes_too_long(command[0] + " takes too long:\n" + made.err);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw std::runtime_error(command[0] + " fails:\n" + made.err);
    return made;
}

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
    // about one start in ten hangs before the browser shows anything
    try {
        return run(command, environment, folder);
    } catch (const takes_too_long&) {
        std::filesystem::remove_all(folder / "profile");
        return run(command, environment, folder);
    }
}
