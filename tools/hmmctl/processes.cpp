// SPDX-License-Identifier: MIT
#include "processes.hpp"

#include "failure.hpp"
#include "lib/files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace hmmctl {
namespace {

namespace fs = std::filesystem;

/// The device node's name. A descriptor whose link ends with it may be a space.
constexpr std::string_view node = "/hmmrt";

/// Parses a name that is a number; returns -1 for others.
int number_in(const std::string& name) {
    int number = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc() && end == name.data() + name.size() ? number : -1;
}

bool is_refusal(const std::error_code& error) {
    return error == std::errc::permission_denied || error == std::errc::operation_not_permitted;
}

/// Is it a kernel thread or a process that has ended? Their files don't matter.
bool has_no_files(const std::string& folder) {
    constexpr unsigned kernel_thread = 0x00200000; // PF_KTHREAD
    const auto stat = tools::read_file(folder + "/stat");
    // pid (name) state ppid pgrp session tty tpgid flags; the name may have parentheses
    const std::size_t behind = stat ? stat->rfind(')') : std::string::npos;
    if (behind == std::string::npos) return true;
    std::istringstream fields(stat->substr(behind + 1));
    char state = 0;
    long skipped = 0;
    unsigned flags = 0;
    fields >> state >> skipped >> skipped >> skipped >> skipped >> skipped >> flags;
    return state == 'Z' || state == 'X' || (flags & kernel_thread) != 0;
}

struct held_space {
    space_file file;
    space mirrored;
};

struct held_spaces {
    std::vector<held_space> spaces;
    std::error_code error; ///< set if we couldn't look at all files
};

/// Reads the fdinfo of all files of a process that may be spaces. The folder may be readable even
/// if its entries aren't.
held_spaces spaces_held(pid_t pid, const std::string& proc) {
    const std::string folder = fmt::format("{}/{}", proc, pid);
    held_spaces held;
    std::error_code step;
    fs::directory_iterator file(folder + "/fd", step);
    held.error = step;
    for (; !step && file != fs::directory_iterator(); file.increment(step)) {
        std::error_code error;
        const std::string target = fs::read_symlink(file->path(), error).string();
        if (!error && target.ends_with(node)) {
            const std::string fd = file->path().filename().string();
            const auto text = tools::read_file(fmt::format("{}/fdinfo/{}", folder, fd));
            if (!text) error.assign(errno, std::generic_category());
            if (auto found = text ? parse_fdinfo(*text) : std::nullopt)
                held.spaces.push_back({{pid, number_in(fd)}, std::move(*found)});
        }
        if (!is_refusal(error)) continue;
        held.error = error;
        break;
    }
    return held;
}

uid_t uid_in(const std::string& status) {
    const std::size_t at = status.find("\nUid:\t");
    uid_t uid = static_cast<uid_t>(-1);
    if (at != std::string::npos)
        std::from_chars(status.data() + at + 6, status.data() + status.size(), uid);
    return uid;
}

/// Describes the process to which a space belongs. Returns nothing if it has ended.
std::optional<process> owner_of(held_space found, const std::string& proc) {
    const pid_t pid = found.mirrored.pid;
    const std::string folder = fmt::format("{}/{}", proc, pid);
    auto name = tools::read_file(folder + "/comm");
    const auto status = tools::read_file(folder + "/status");
    if (!name || !status) return std::nullopt;
    if (name->ends_with('\n')) name->pop_back();
    return process{pid, uid_in(*status), std::move(*name), std::move(found.mirrored), found.file};
}

} // namespace

process_scan scan_processes(const std::string& proc) {
    process_scan scan;
    std::map<std::uint64_t, held_space> spaces; // by id, as a space may have several files
    std::error_code error;
    fs::directory_iterator entry(proc, error);
    if (error) throw failure(fmt::format("cannot read {}: {}", proc, error.message()));
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
        const std::string folder = entry->path().string();
        const pid_t pid = number_in(entry->path().filename().string());
        if (pid <= 0 || has_no_files(folder)) continue;
        held_spaces held = spaces_held(pid, proc);
        // the kernel also denies access to files of a process that is exiting
        if (is_refusal(held.error) && !has_no_files(folder)) scan.unreadable++;
        for (held_space& found : held.spaces)
            if (found.mirrored.pid > 0)
                spaces.insert_or_assign(found.mirrored.id, std::move(found));
    }
    if (error) throw failure(fmt::format("cannot read {}: {}", proc, error.message()));
    for (auto& [id, found] : spaces)
        if (auto owner = owner_of(std::move(found), proc))
            scan.processes.push_back(std::move(*owner));
    std::sort(scan.processes.begin(), scan.processes.end(),
              [](const process& a, const process& b) { return a.pid < b.pid; });
    return scan;
}

const space* space_in(const process_scan& scan, std::uint64_t id) {
    for (const process& of : scan.processes)
        if (of.mirrored.id == id) return &of.mirrored;
    return nullptr;
}

process find_process(pid_t pid, const std::string& proc) {
    const std::string folder = fmt::format("{}/{}", proc, pid);
    std::error_code error;
    if (!fs::exists(folder, error)) throw failure(fmt::format("process {} does not exist", pid));
    held_spaces held = spaces_held(pid, proc);
    for (held_space& found : held.spaces)
        if (found.mirrored.pid == pid)
            if (auto owner = owner_of(std::move(found), proc)) return std::move(*owner);
    if (is_refusal(held.error))
        throw failure(fmt::format(
            "no permission to inspect process {}: this needs the right to trace it (ptrace)", pid));
    // another process may hold a file of this space
    for (process& other : scan_processes(proc).processes)
        if (other.pid == pid) return std::move(other);
    throw failure(fmt::format("process {} does not use hmmrt", pid));
}

tools::descriptor open_file(const space_file& wanted, const char* to_do) {
    const tools::descriptor process(static_cast<int>(syscall(SYS_pidfd_open, wanted.holder, 0)));
    if (process.get() < 0 && errno == ESRCH)
        throw failure(fmt::format("process {} has exited", wanted.holder));
    tools::descriptor file(process.get() < 0 ? -1
                                             : static_cast<int>(syscall(
                                                   SYS_pidfd_getfd, process.get(), wanted.fd, 0)));
    if (file.get() >= 0) return file;
    if (errno == EPERM)
        throw failure(
            fmt::format("no permission to {} process {}: this needs the right to trace it (ptrace)",
                        to_do, wanted.holder));
    throw failure(fmt::format("cannot duplicate the hmmrt descriptor of process {}: {}",
                              wanted.holder, std::strerror(errno)));
}

bool has_space(pid_t pid, const std::string& proc) {
    const held_spaces held = spaces_held(pid, proc);
    return std::any_of(held.spaces.begin(), held.spaces.end(),
                       [&](const held_space& found) { return found.mirrored.pid == pid; });
}

} // namespace hmmctl
