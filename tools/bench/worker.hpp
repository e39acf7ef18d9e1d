// SPDX-License-Identifier: MIT
// A process that runs measurements for this one.
#pragma once

#include "json.hpp"
#include "lib/files.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace bench {

/// The line that starts the work that the previous line prepared.
constexpr const char* run_request = "run";

/// A time interval in nanoseconds of the steady clock, which all processes share.
struct interval {
    std::int64_t start = 0, end = 0;
};

/// A process that runs this program. It ends with this object, and with this process.
class worker {
  public:
    /// @variables are additional environment variables, as NAME=VALUE. Throws hmmctl::failure if
    /// the process can't be started.
    explicit worker(const std::vector<std::string>& variables = {});
    worker(worker&&) noexcept;
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker();

    /// Prepares work. These functions throw hmmctl::failure if the process has ended; in that case
    /// it has reported the reason on standard error.
    void prepare(const hmmctl::json& request) const;
    void start() const;
    /// Waits for the work to finish.
    interval result() const;

  private:
    void write_line(const std::string& line) const;
    hmmctl::json read_line() const;

    pid_t pid_;
    std::optional<tools::descriptor> socket_; ///< the process's standard input and output
};

/// Runs the same work in all processes at the same time. Returns the seconds from the first start
/// to the last end.
double seconds_together(std::span<const worker> workers, const hmmctl::json& request);

} // namespace bench
