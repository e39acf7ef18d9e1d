// SPDX-License-Identifier: MIT
// A process that measures for this one.
#pragma once

#include "files.hpp"
#include "json.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

namespace bench {

/// The line that starts what the line before has prepared.
constexpr const char* run_request = "run";

/// From when to when, in nanoseconds of the steady clock, which all processes share.
struct interval {
    std::int64_t start = 0, end = 0;
};

/// A process of this program. It ends with this object, and when this process ends.
class worker {
  public:
    /// @variables are NAME=VALUE, for the process alone. Throws hmmctl::failure if it cannot start.
    explicit worker(const std::vector<std::string>& variables = {});
    worker(worker&&) noexcept;
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker();

    /// Makes work ready. These throw hmmctl::failure if the process has ended; then it has said why
    /// on standard error.
    void prepare(const hmmctl::json& request) const;
    void start() const;
    /// Waits until the work has ended.
    interval result() const;

  private:
    void write_line(const std::string& line) const;
    hmmctl::json read_line() const;

    pid_t pid_;
    std::optional<hmmctl::descriptor> socket_; ///< what the process reads and writes
};

/// Lets each process do the same work at the same time. Returns the seconds from the first start to
/// the last end.
double seconds_together(std::span<const worker> workers, const hmmctl::json& request);

} // namespace bench
