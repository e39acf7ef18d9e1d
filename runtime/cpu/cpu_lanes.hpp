// SPDX-License-Identifier: MIT
/*
 * An executor of the cpu device: lanes are threads of this process, which take
 * work from the same rings as those of an agent.
 *
 * Threads that the program did not start must not get its signals: lanes block
 * all but those that their own instructions raise and the one that stops them.
 *
 * Ending: stop() waits for pieces to end by themselves for a moment, and then
 * makes lanes leave device code. A lane that does not leave is left alone. It
 * keeps the control block, and ends when its piece does. After kill(), lanes
 * that do not leave count as lost when the same time has passed.
 */
#pragma once

#include "executor.hpp"
#include "machine.hpp"

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
