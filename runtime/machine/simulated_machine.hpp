// SPDX-License-Identifier: MIT
/*
 * The devices of the modules. Each question is an ioctl on /dev/hmmrt.
 *
 * The space is created at first use and belongs to the process. All executors
 * are agents on it.
 */
#pragma once

#include "machine/machine.hpp"
#include "sys/fd.hpp"
#include "thread/parked_thread.hpp"

#include <mutex>

namespace hmmrt {

class simulated_machine final : public machine {
  public:
    bool shares_page_tables() const override { return false; }
    hmmrt_info info() override;
    int get_device_info(hmmrt_device_info& info) override;
    std::unique_ptr<executor> start(const executor_options& options) override;

    int prefetch(hmmrt_prefetch& request) override;
    int advise(hmmrt_advise& request) override;
    int get_range_attributes(hmmrt_range_attributes& request) override;
    int get_residency(hmmrt_residency& request) override;
    int get_pages(hmmrt_pages& request) override;
    int control_peer(hmmrt_peer& request) override;
    int control_knob(hmmrt_knob& request) override;
    int control_quota(hmmrt_quota& request) override;
    int get_stats(hmmrt_stats& request) override;
    int annotate(hmmrt_annotate& request) override;

    int create_object(hmmrt_object_create& request) override;
    int get_object_info(int fd, hmmrt_object_info& info) override;
    void forget_object(std::uint32_t location, std::size_t bytes) noexcept override;
    int control_access(hmmrt_access& request) override;

    void migrate_back(std::uint64_t address, std::size_t bytes) override;
    int place(std::uint64_t address, std::size_t bytes, std::uint32_t device_id) override;
    void unmapped(std::uint64_t address, std::size_t bytes) noexcept override;

  private:
    int space();

    std::mutex lock_;
    unique_fd space_;
    parked_context parked_;
};

/// True if the modules are loaded, even if this user may not access them.
bool modules_are_loaded();

} // namespace hmmrt
