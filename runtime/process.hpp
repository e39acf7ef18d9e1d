// SPDX-License-Identifier: MIT
/*
 * Per-process state of the runtime: the devices, the space, the settings.
 *
 * There is one object, created at first use and never destroyed: kernels and
 * destructors of the program may outlive any destruction order.
 */
#pragma once

#include "device.hpp"
#include "handle_table.hpp"
#include "managed_memory.hpp"
#include "memory_pool.hpp"
#include "registered_memory.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <linux/hmmrt.h>

namespace hmmrt {

/// Every call of the interface reads this list.
using device_list =
    std::vector<std::unique_ptr<device>, own_memory_allocator<std::unique_ptr<device>>>;

class process : public in_own_memory {
  public:
    static process& get();
    process() = default; ///< for tests; programs use get()

    /// Returns the devices. Throws failure if there is no module or no
    /// permission, or the modules have another version.
    const device_list& devices();
    device& device_at(int number);
    hmmrt_device_info info_of(const device& which);
    hmmrt_info info();

    parked_context& parked() { return parked_; }
    /// Creates the space if needed.
    session_options session_options_for(const device& of);
    std::uint32_t lane_count();
    void set_strict(bool strict);

    /// Waits for all devices; at the end throws the sticky error of one of
    /// them, if any.
    void synchronize();

    /// Opens a file without a space, for operations that concern no process.
    /// Throws failure.
    static unique_fd open_manager();
    /// Returns the file for memory operations. Creates the space if needed.
    int space();
    /// Migrates the range to system memory where possible, in case the process
    /// has used a device.
    void migrate_back(std::uint64_t address, std::size_t bytes);

    managed_memory& managed() { return managed_; }
    registered_memory& registered() { return registered_; }
    pool_table& pools() { return pools_; }
    /// Serialises checks and changes of peer access.
    std::mutex& peer_lock() { return peer_lock_; }
    handle_table<stream>& streams() { return streams_; }
    handle_table<event>& events() { return events_; }
    /// Creates a stream and its handle; throws failure.
    std::shared_ptr<stream> add_stream(device& of, unsigned flags, int priority,
                                       std::uint64_t& handle);
    /// Invalidates all handles of this device.
    void forget_streams(const device& of);

  private:
    device_list enumerate(int manager);

    std::mutex lock_;
    /// empty until all devices were found; never changes afterwards
    device_list devices_;
    unique_fd space_;
    std::optional<bool> strict_;
    parked_context parked_;
    managed_memory managed_;
    registered_memory registered_;
    pool_table pools_;
    std::mutex peer_lock_;
    handle_table<stream> streams_;
    handle_table<event> events_;
};

} // namespace hmmrt
