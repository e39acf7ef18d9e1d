// SPDX-License-Identifier: MIT
// Runs programs, and manages temporary files.
#pragma once

#include "options.hpp"

#include <filesystem>
#include <sys/types.h>

namespace hmmcc {

/// A temporary folder that is removed on destruction and by signals.
class temporary_folder {
  public:
    temporary_folder();
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder();

    std::string file(const std::string& name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

/// Starts a program, with stderr redirected to @errors if that isn't empty. Throws
/// std::system_error.
pid_t start(const words& command, const std::string& errors = "");
/// Returns the exit status, 128 + N for signal N.
int wait_for(pid_t process);

/// The command, quoted for a shell.
std::string quoted(const words& command);

} // namespace hmmcc
