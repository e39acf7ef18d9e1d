// SPDX-License-Identifier: MIT
#include "hmmctl_run.hpp"

#include "json_schema.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int cannot_run = 99;

std::string contents_of(int file) {
    std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
    EXPECT_EQ(pread(file, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// Opens the program before we change the user. The other user may lack access to the file, or the
/// right to execute it if it was built with a strict umask, and then gets a copy.
int open_hmmctl(uid_t user) {
    const int file = open(HMMCTL, O_RDONLY | O_CLOEXEC);
    if (user == 0) return file;
    const int copy = memfd_create("hmmctl", MFD_CLOEXEC);
    while (sendfile(copy, file, nullptr, 1 << 30) > 0)
        continue;
    close(file);
    return copy;
}

[[noreturn]] void become_hmmctl(int program, std::vector<std::string> arguments, manner how,
                                int out, int err) {
    arguments.insert(arguments.begin(), "hmmctl");
    if (how.out) out = open(how.out, O_WRONLY);
    if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) _exit(cannot_run);
    if (how.uid != 0 &&
        (setgroups(0, nullptr) != 0 || setgid(how.uid) != 0 || setuid(how.uid) != 0))
        _exit(cannot_run);
    fexecve(program, pointers_to(arguments).data(), pointers_to(how.environment).data());
    _exit(cannot_run);
}

/// Returns the words of a command, joined with underscores.
std::string command_in(const std::vector<std::string>& arguments) {
    std::string command;
    for (const std::string& word : arguments) {
        const bool is_list = word == "--list"; // has a schema of its own
        if (!is_list && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string::npos)
            break;
        command += (command.empty() ? "" : "_") + word.substr(is_list ? 2 : 0);
    }
    return command;
}

} // namespace

result run_hmmctl(const std::vector<std::string>& arguments, const manner& how) {
    const int program = open_hmmctl(how.uid);
    const int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
    EXPECT_TRUE(program >= 0 && out >= 0 && err >= 0);
    const pid_t child = fork();
    if (child == 0) become_hmmctl(program, arguments, how, out, err);
    if (how.beside) how.beside(child);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    result found;
    if (WIFEXITED(status)) found.status = WEXITSTATUS(status);
    found.out = contents_of(out);
    found.err = contents_of(err);
    for (const int file : {program, out, err})
        close(file);
    return found;
}

nlohmann::json answer_in(const std::string& text, const std::string& command) {
    nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
    EXPECT_TRUE(parsed.is_object()) << text;
    EXPECT_EQ(what_is_wrong_with(parsed, "answer_of_" + command), "") << text;
    return parsed;
}

nlohmann::json json_of(std::vector<std::string> arguments, const manner& how) {
    const std::string command = command_in(arguments);
    arguments.emplace_back("--json");
    const result found = run_hmmctl(arguments, how);
    EXPECT_EQ(found.status, 0) << found.err;
    return answer_in(found.out, command);
}

std::set<std::string> fields_of(const nlohmann::json& object) {
    std::set<std::string> names;
    for (const auto& [name, value] : object.items())
        names.insert(name);
    return names;
}
