// SPDX-License-Identifier: MIT
#include "temporary_folder.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
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

} // namespace hmmcc
