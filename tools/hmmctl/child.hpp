// SPDX-License-Identifier: MIT
// Signals that end a recording, and the command that is recorded.
#pragma once

#include "lib/files.hpp"

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace hmmctl {

/// While this exists, SIGINT and SIGTERM don't end the program but can be read here.
class signal_watch {
  public:
    signal_watch();
    signal_watch(const signal_watch&) = delete;
    signal_watch& operator=(const signal_watch&) = delete;
    ~signal_watch();

    int get() const { return file_.get(); }
    const sigset_t& mask_before() const { return before_; }

    struct arrival {
        int number = 0;
        bool to_this_process_only = false; ///< false if the terminal sent it to a whole group
    };
    /// Returns nothing if no signal is pending.
    std::optional<arrival> take() const;

  private:
    sigset_t before_;
    tools::descriptor file_;
};

/// A program that runs as a child.
class child {
  public:
    /// Starts the program with additional environment variables, as NAME=VALUE. Throws failure if
    /// it can't be executed.
    child(const std::vector<std::string>& command, const signal_watch& signals,
          const std::vector<std::string>& environment = {});

    /// Returns a descriptor for poll() that becomes readable when the child ends.
    int get() const { return file_.get(); }
    void send(int signal) const;
    /// Waits for the child to end. Returns its exit status, or 128 + N if signal N killed it.
    int wait() const;

  private:
    pid_t pid_;
    tools::descriptor file_;
};

} // namespace hmmctl
