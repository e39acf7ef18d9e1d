// SPDX-License-Identifier: MIT
#include "process.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace hmmcc {
namespace {

/// For the signal handler; empty: no folder to remove.
char folder_to_remove[4096];

/// Removes the temporary folder, and lets the signal end hmmcc.
void remove_and_end(int signal) {
    if (folder_to_remove[0] != '\0') {
        // a signal handler must not allocate memory, so run rm
        const pid_t child = fork();
        if (child == 0) {
            execl("/bin/rm", "rm", "-rf", folder_to_remove, static_cast<char*>(nullptr));
            _exit(1);
        }
        if (child > 0) waitpid(child, nullptr, 0);
    }
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

} // namespace

temporary_folder::temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "hmmcc-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        throw std::system_error(errno, std::generic_category(), name);
    path_ = name;
    std::strncpy(folder_to_remove, name.c_str(), sizeof(folder_to_remove) - 1);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        std::signal(signal, remove_and_end);
}

temporary_folder::~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
    folder_to_remove[0] = '\0';
}

pid_t start(const words& command, const std::string& errors) {
    std::vector<char*> arguments;
    for (const std::string& word : command)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (!errors.empty())
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(),
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t process = 0;
    const int error =
        posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw std::system_error(error, std::generic_category(), command[0]);
    return process;
}

int wait_for(pid_t process) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waitpid");
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string quoted(const words& command) {
    std::string line;
    for (const std::string& word : command) {
        if (!line.empty()) line += ' ';
        const bool plain =
            word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "_-+=./,:@%") == std::string::npos;
        if (plain && !word.empty()) {
            line += word;
            continue;
        }
        line += '\'';
        for (const char c : word)
            line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += '\'';
    }
    return line;
}

} // namespace hmmcc
