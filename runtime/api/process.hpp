// SPDX-License-Identifier: MIT
/*
 * Per-process state of the runtime: the machine, its devices, the settings.
 *
 * There is a single object, created at first use and never destroyed, because
 * the program's kernels and destructors may outlive any destruction order.
 */
#pragma once

#include "base/handle_table.hpp"
#include "machine/machine.hpp"
#include "memory/device_variables.hpp"
#include "memory/managed_memory.hpp"
#include "memory/memory_pool.hpp"
#include "memory/registered_memory.hpp"
#include "memory/virtual_memory.hpp"
#include "session/device.hpp"
#include "session/queued_prefetches.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <linux/hmmrt.h>

namespace hmmrt {

/// In its own memory because every call of the interface reads this list.
using device_list =
    std::vector<std::unique_ptr<device>, own_memory_allocator<std::unique_ptr<device>>>;

class process : public in_own_memory, public device_owner {
  public:
    static process& get();
    process() = default; ///< for tests; programs use get()

    /// The machine with the devices; chosen at first use. Throws failure.
    machine& where() { return machine_.get(); }
    /// Throws failure if the modules aren't loaded, this user may not use them,
    /// or their version doesn't match.
    const device_list& devices();
    device& device_at(int number);
    hmmrt_device_info info_of(const device& which);

    // For devices.
    std::unique_ptr<executor> start_lanes(const device& of) override;
    session_options session_options_for(const device& of) override;
    std::uint32_t lane_count() override;
    void forget_session(const device& of) override;

    /// True if launches only return once they are complete. Valid once the
    /// devices are known.
    bool launches_block() const { return launches_block_.load(std::memory_order_relaxed); }
    void set_strict(bool strict);

    /// Waits for all devices, and then throws the sticky error of one of them,
    /// if any.
    void synchronize();

    managed_memory& managed() { return managed_; }
    registered_memory& registered() { return registered_; }
    queued_prefetches& prefetches() { return prefetches_; }
    device_variables& variables() { return variables_; }
    pool_table& pools() { return pools_; }
    virtual_memory& reserved() { return reserved_; }
    /// Serialises checks and changes of peer access.
    std::mutex& peer_lock() { return peer_lock_; }
    handle_table<stream>& streams() { return streams_; }
    handle_table<event>& events() { return events_; }
    /// Creates a stream and its handle; throws failure.
    std::shared_ptr<stream> add_stream(device& of, unsigned flags, int priority,
                                       std::uint64_t& handle);

  private:
    device_list enumerate(machine& of);

    chosen_machine machine_;
    std::mutex lock_;
    /// empty until the devices are enumerated, then constant
    device_list devices_;
    std::optional<bool> strict_;
    std::atomic<bool> launches_block_ = false;
    managed_memory managed_{machine_};
    registered_memory registered_;
    queued_prefetches prefetches_;
    device_variables variables_;
    pool_table pools_{managed_};
    virtual_memory reserved_{machine_};
    std::mutex peer_lock_;
    handle_table<stream> streams_;
    handle_table<event> events_;
};

} // namespace hmmrt
