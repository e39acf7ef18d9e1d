// SPDX-License-Identifier: MIT
/*
 * The source of devices: the modules, or this process itself.
 *
 * The border has two parts. The machine answers questions about devices and
 * memory with the structs of the kernel's interface, and executors (see
 * executor.hpp) run the lanes. Everything else in the runtime, from streams and
 * events to pools and registered memory, is the same code above both.
 *
 * Functions that return int return 0 or -errno, with the meanings of
 * <linux/hmmrt.h>. Any thread may call any function at any time.
 */
#pragma once

#include "executor.hpp"

#include <linux/hmmrt.h>
#include <linux/hmmrt_event.h>

#include <memory>
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

    /// True if devices use the page tables of this process, so that no page
    /// ever moves.
    virtual bool shares_page_tables() const = 0;
    /// Throws failure if there are no devices.
    virtual hmmrt_info info() = 0;
    /// -ENODEV for an id that no device has. Throws failure if there are no
    /// devices.
    virtual int get_device_info(hmmrt_device_info& info) = 0;
    /// Starts lanes and binds the device to the memory of this process; throws
    /// failure.
    virtual std::unique_ptr<executor> start(const executor_options& options) = 0;

    // Each of these throws failure if this process cannot use devices.
    virtual int prefetch(hmmrt_prefetch& request) = 0;
    virtual int advise(hmmrt_advise& request) = 0;
    virtual int get_range_attributes(hmmrt_range_attributes& request) = 0;
    virtual int get_residency(hmmrt_residency& request) = 0;
    virtual int get_pages(hmmrt_pages& request) = 0;
    virtual int control_peer(hmmrt_peer& request) = 0;
    virtual int control_knob(hmmrt_knob& request) = 0;
    virtual int control_quota(hmmrt_quota& request) = 0;
    /// -ENODEV if the device is not started.
    virtual int get_stats(hmmrt_stats& request) = 0;
    virtual int annotate(hmmrt_annotate& request) = 0;

    /// Creates a memory object; its descriptor is the caller's.
    virtual int create_object(hmmrt_object_create& request) = 0;
    /// -EINVAL if the descriptor is not one of a memory object.
    virtual int get_object_info(int fd, hmmrt_object_info& info) = 0;
    /// The library has closed its last descriptor of a memory object that
    /// create_object() made.
    virtual void forget_object(std::uint32_t location, std::size_t bytes) noexcept = 0;
    /// -ENODEV for a device that is not started.
    virtual int control_access(hmmrt_access& request) = 0;

    /// Moves pages back to system memory where possible, if this process has
    /// used a device.
    virtual void migrate_back(std::uint64_t address, std::size_t bytes) = 0;
    /// Makes whole pages memory of a device that is started. -ENOMEM if the
    /// device has not enough memory.
    virtual int place(std::uint64_t address, std::size_t bytes, std::uint32_t device_id) = 0;
    /// The library has unmapped these pages.
    virtual void unmapped(std::uint64_t address, std::size_t bytes) noexcept = 0;
};

/// Chooses by HMMRT_DEVICE, or takes the modules if they are loaded. Says so on
/// stderr if it chooses the cpu device by itself. Throws failure.
std::unique_ptr<machine> choose_machine();

} // namespace hmmrt
