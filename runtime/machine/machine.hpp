// SPDX-License-Identifier: MIT
/*
 * The source of devices: the modules, or this process itself.
 *
 * There are two interfaces. The machine answers questions about devices and
 * memory with the structs of the kernel's interface, and executors (see
 * executor.hpp) run the lanes. All other code of the runtime, such as streams,
 * events, pools and registered memory, is independent of the choice.
 *
 * Functions that return int return 0 or -errno, with the meanings of
 * <linux/hmmrt.h>. Any thread may call any function at any time.
 */
#pragma once

#include "machine/executor.hpp"

#include <linux/hmmrt.h>
#include <linux/hmmrt_event.h>

#include <memory>
#include <mutex>
#include <string>

namespace hmmrt {

struct executor_options {
    std::uint32_t device_id;
    std::string device_name; ///< "hmmrt-gpu0"
    std::uint32_t lanes;
    bool strict;
};

class machine : public in_own_memory {
  public:
    machine() = default;
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;
    virtual ~machine() = default;

    /// True if devices use the page tables of this process, so that pages never
    /// move.
    virtual bool shares_page_tables() const = 0;
    /// Throws failure if there are no devices.
    virtual hmmrt_info info() = 0;
    /// Returns -ENODEV for an unknown id. Throws failure if there are no
    /// devices.
    virtual int get_device_info(hmmrt_device_info& info) = 0;
    /// Starts the lanes and binds the device to this process's memory; throws
    /// failure.
    virtual std::unique_ptr<executor> start(const executor_options& options) = 0;

    // The functions below throw failure if this process can't use devices.
    virtual int prefetch(hmmrt_prefetch& request) = 0;
    virtual int advise(hmmrt_advise& request) = 0;
    virtual int get_range_attributes(hmmrt_range_attributes& request) = 0;
    virtual int get_residency(hmmrt_residency& request) = 0;
    virtual int get_pages(hmmrt_pages& request) = 0;
    virtual int control_peer(hmmrt_peer& request) = 0;
    virtual int control_knob(hmmrt_knob& request) = 0;
    virtual int control_quota(hmmrt_quota& request) = 0;
    /// Returns -ENODEV if the device isn't started.
    virtual int get_stats(hmmrt_stats& request) = 0;
    virtual int annotate(hmmrt_annotate& request) = 0;

    /// Creates a memory object. The caller owns its descriptor.
    virtual int create_object(hmmrt_object_create& request) = 0;
    /// Returns -EINVAL if @fd isn't a memory object.
    virtual int get_object_info(int fd, hmmrt_object_info& info) = 0;
    /// Tells the machine that the library closed its last descriptor of a
    /// memory object from create_object().
    virtual void forget_object(std::uint32_t location, std::size_t bytes) noexcept = 0;
    /// Returns -ENODEV for a device that isn't started.
    virtual int control_access(hmmrt_access& request) = 0;

    /// Moves pages back to system memory where possible, if this process has
    /// used a device.
    virtual void migrate_back(std::uint64_t address, std::size_t bytes) = 0;
    /// Makes whole pages memory of a started device. Returns -ENOMEM if the
    /// device doesn't have enough memory.
    virtual int place(std::uint64_t address, std::size_t bytes, std::uint32_t device_id) = 0;
    /// Tells the machine that the library unmapped these pages.
    virtual void unmapped(std::uint64_t address, std::size_t bytes) noexcept = 0;
};

/// Chooses a machine: the one in HMMRT_DEVICE, or else the modules if they are
/// loaded. Prints a note to stderr if it falls back to the cpu device. Throws
/// failure.
std::unique_ptr<machine> choose_machine();

/// The machine of a program, which chooses it at first use.
class chosen_machine {
  public:
    /// Throws failure.
    machine& get();

  private:
    std::mutex lock_;
    std::unique_ptr<machine> machine_;
};

} // namespace hmmrt
