// SPDX-License-Identifier: MIT
// Programs that hmmcc runs, and its temporary files.
#pragma once

#include "options.hpp"

#include <filesystem>
#include <sys/types.h>

namespace hmmcc {

/// A folder that is removed at the end, also by signals.
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

/// Starts a program. Its errors go to a file if @errors is not empty. Throws
/// std::system_error.
pid_t start(const words& command, const std::string& errors = "");
/// Returns the exit status, 128 + N for signal N.
int wait_for(pid_t process);

/// The command as a shell takes it.
std::string quoted(const words& command);

} // namespace hmmcc
