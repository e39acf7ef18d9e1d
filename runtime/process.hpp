// SPDX-License-Identifier: MIT
/*
 * What the runtime knows about this process: the devices, the space, the settings.
 *
 * One object, made at first use and never destroyed: kernels and destructors of the
 * program may outlive any order we could choose.
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

/// Looked at by every call of the interface.
using device_list =
    std::vector<std::unique_ptr<device>, own_memory_allocator<std::unique_ptr<device>>>;

class process : public in_own_memory {
  public:
    static process& get();
    process() = default; ///< for tests; programs have the one

    /// Throws failure: no module, no permission, another version.
    const device_list& devices();
    device& device_at(int number);
    hmmrt_device_info info_of(const device& which);
    hmmrt_info info();

    parked_context& parked() { return parked_; }
    /// Creates the space if need be.
    session_options session_options_for(const std::string& device_name);
    std::uint32_t lane_count();
    void set_strict(bool strict);

    /// Waits for all devices; throws the sticky error of one of them, at the end.
    void synchronize();

    /// A file without a space, for what concerns no process. Throws failure.
    static unique_fd open_manager();
    /// The file that calls for memory are made on. Creates the space if need be.
    int space();
    /// Has system memory wherever it can, for who may have used a device before.
    void bring_home(std::uint64_t address, std::size_t bytes);

    managed_memory& managed() { return managed_; }
    registered_memory& registered() { return registered_; }
    pool_table& pools() { return pools_; }
    /// Of looking whether a peer is enabled, and changing that.
    std::mutex& peer_lock() { return peer_lock_; }
    handle_table<stream>& streams() { return streams_; }
    handle_table<event>& events() { return events_; }
    /// Makes a stream and its handle; throws failure.
    std::shared_ptr<stream> add_stream(device& of, unsigned flags, int priority,
                                       std::uint64_t& handle);
    /// Handles of this device are no longer valid.
    void forget_streams(const device& of);

  private:
    device_list enumerate(int manager);

    std::mutex lock_;
    device_list devices_; ///< empty until all were found; never changes afterwards
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
