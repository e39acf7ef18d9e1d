// SPDX-License-Identifier: MIT
/*
 * The executor for devices of the modules: a second process, the agent, with
 * its slot, its control block and the parked threads that its lanes borrow.
 */
#pragma once

#include "machine/executor.hpp"
#include "sys/fd.hpp"
#include "thread/parked_thread.hpp"

#include <memory>
#include <string>
#include <vector>

namespace hmmrt {

struct agent_options {
    std::string device_path; ///< "/dev/hmmrt-gpu0"
    int space_fd;
    std::uint32_t lanes;
    bool strict;
};

class agent_process final : public executor {
  public:
    /// Starts the agent; throws failure.
    agent_process(parked_context& context, const agent_options& options);
    ~agent_process() override;

    control& shared() override { return *ctl_; }
    std::uint32_t lanes() const override { return lanes_; }
    bool lost() override;
    void kill() override;
    void stop() override;
    void release() override;

  private:
    void create_control(const agent_options& options);
    std::uint64_t open_device(const agent_options& options);
    void copy_kernel_maps();
    void start_agent();
    void await_agent();
    void close_control();

    parked_context& context_;
    const std::uint32_t lanes_;
    mapping slot_;
    control* ctl_ = nullptr;
    unique_fd control_file_; ///< until the agent runs
    unique_fd gpu_;
    unique_fd pidfd_;
    unique_fd kill_reader_;
    unique_fd kill_writer_;
    std::vector<std::unique_ptr<parked_thread>,
                own_memory_allocator<std::unique_ptr<parked_thread>>>
        parked_;
    bool stopped_ = false;
    bool released_ = false;
};

} // namespace hmmrt
