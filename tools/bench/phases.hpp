// SPDX-License-Identifier: MIT
// What the events of this process's space add up to.
#pragma once

#include "event_ring.hpp"
#include "files.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace bench {

using phase_sums = std::map<std::string, std::uint64_t>;

/// Records the events of this process from its construction on.
class phase_recorder {
  public:
    /// Throws hmmctl::failure if no events can be recorded here.
    phase_recorder();

    /// Returns the nanoseconds of faults of the device and of the CPU, of prefetches, and
    /// dropped_events.
    phase_sums take();

  private:
    hmmctl::descriptor space_;
    std::unique_ptr<hmmctl::event_source> ring_;
};

} // namespace bench
