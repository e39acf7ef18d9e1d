// SPDX-License-Identifier: MIT
/*
 * The executor of the cpu device. Lanes are threads of this process, which take
 * work from the same rings as an agent's lanes.
 *
 * Threads that the program didn't start must not get its signals, so lanes
 * block all signals except those that their own instructions raise and the one
 * that stops them.
 *
 * Ending: stop() first gives pieces a moment to end by themselves, and then
 * makes lanes leave device code. A lane that doesn't leave is abandoned: it
 * keeps the control block, and ends when its piece does. After kill(), lanes
 * that don't leave count as lost after the same time.
 */
#pragma once

#include "machine/executor.hpp"
#include "machine/machine.hpp"

#include <memory>

namespace hmmrt {

class cpu_machine;
struct cpu_lane_set;

class cpu_lanes final : public executor {
  public:
    /// Starts the threads; throws failure.
    cpu_lanes(cpu_machine& owner, const executor_options& options);
    ~cpu_lanes() override;

    control& shared() override;
    std::uint32_t lanes() const override { return options_.lanes; }
    bool lost() override;
    void kill() override;
    void stop() override;
    void release() override;

  private:
    void start_lane(std::uint32_t index);
    void ask_to_end();
    bool all_ended() const;
    bool await_end(int milliseconds, bool urged);

    cpu_machine& owner_;
    const executor_options options_;
    std::shared_ptr<cpu_lane_set> set_;       ///< shared with the threads
    std::atomic<std::uint64_t> killed_at_{0}; ///< in milliseconds; 0: never
    bool stopped_ = false;
    bool released_ = false;
};

} // namespace hmmrt
