// SPDX-License-Identifier: MIT
// Parses the /proc/PID/fdinfo entry of a space. docs/uapi.md lists the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace hmmctl {

/// Names and values, in the kernel's order. Names have underscores, like `cpu_faults`.
using counters = std::vector<std::pair<std::string, std::uint64_t>>;

/// Returns the value with this name, 0 if there is none.
std::uint64_t value_of(const counters& all, std::string_view name);

/// A device bound to a space.
struct bound_device {
    std::uint32_t id = 0;
    std::uint64_t binding = 0;    ///< serial number; the counters start at 0 with each binding
    std::uint64_t used_bytes = 0; ///< device memory that is charged to the process
    counters counted;
    std::optional<double> faults_per_second; ///< if measured
};

struct space {
    std::uint64_t id = 0;
    pid_t pid = 0; ///< 0 if the process has exited or isn't visible
    counters counted;
    std::vector<bound_device> devices; ///< by id

    std::uint64_t used_bytes() const;
};

/// Parses a descriptor's entry. Returns nothing if the descriptor isn't a space. Unknown keys
/// become counters; lines that aren't a key and a number are skipped.
std::optional<space> parse_fdinfo(std::string_view text);

/// Returns the counters' increase since @earlier. Values that aren't counters, such as the bytes in
/// use, are those of @now.
counters counted_since(counters now, const counters& earlier);

/// Likewise for a space; @earlier is nullptr if it didn't exist yet. A device that was rebound in
/// between counts from 0.
space counted_since(space now, const space* earlier);

/// Computes the fault rates of @now; @earlier was taken @seconds before. A device that wasn't bound
/// then, or was rebound in between, has no rate.
void set_fault_rates(space& now, const space& earlier, double seconds);

} // namespace hmmctl
