// SPDX-License-Identifier: MIT
// Adds up the events of this process's space.
#pragma once

#include "event_ring.hpp"
#include "lib/files.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace bench {

using phase_sums = std::map<std::string, std::uint64_t>;

/// Records the events of this process, from its construction.
class phase_recorder {
  public:
    /// Throws hmmctl::failure if events can't be recorded here.
    phase_recorder();

    /// Returns the time of device faults, CPU faults and prefetches, in nanoseconds, and
    /// dropped_events.
    phase_sums take();

  private:
    tools::descriptor space_;
    std::unique_ptr<hmmctl::event_source> ring_;
};

} // namespace bench
