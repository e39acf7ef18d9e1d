// SPDX-License-Identifier: MIT
// What /proc/PID/fdinfo says about a space. docs/uapi.md lists the keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace hmmctl {

/// Names and values, in the kernel's order. Names have underscores: `cpu_faults`.
using counters = std::vector<std::pair<std::string, std::uint64_t>>;

/// Returns the value with that name, 0 if there is none.
std::uint64_t value_of(const counters& all, std::string_view name);

/// A device that is bound to a space.
struct bound_device {
    std::uint32_t id = 0;
    std::uint64_t binding = 0;    ///< serial number; the counters start at 0 with each binding
    std::uint64_t used_bytes = 0; ///< device memory that is charged to the process
    counters counted;
    std::optional<double> faults_per_second; ///< if it was measured
};

struct space {
    std::uint64_t id = 0;
    pid_t pid = 0; ///< 0 if the process has exited, or is not visible
    counters counted;
    std::vector<bound_device> devices; ///< by id

    std::uint64_t used_bytes() const;
};

/// Reads the entry of one descriptor. Returns nothing if that is no space. Keys that this version
/// does not know become counters; lines that are no key and number are skipped.
std::optional<space> parse_fdinfo(std::string_view text);

/// Returns @now with what was counted since @earlier. Values that are none of counters, as the
/// bytes in use, stay.
counters counted_since(counters now, const counters& earlier);

/// The same for a space, null for one that was not there. A device that was bound again since
/// counts from 0.
space counted_since(space now, const space* earlier);

/// Sets the fault rates of @now from what was counted @seconds earlier. A device that was not
/// bound then, or was bound again since, has no rate.
void set_fault_rates(space& now, const space& earlier, double seconds);

} // namespace hmmctl
