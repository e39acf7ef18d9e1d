// SPDX-License-Identifier: MIT
/*
 * The cpu device: device code runs on threads of this process, and device
 * memory is ordinary memory. It needs no module, no privilege and no second
 * process, so debuggers and sanitizers see device code like the rest of the
 * program.
 *
 * All pages are always in system memory. A prefetch finds its pages there,
 * whatever its destination. Advice, last prefetches, knobs, quotas and peer
 * access are remembered and reported, but have no effect. Only memory from
 * hmmMalloc(), pools and memory objects counts as device memory, which is
 * limited to the device's size. A memory object is a memfd.
 *
 * Settings of addresses: the library forgets them when it unmaps memory, or
 * when the program frees it through the library. It doesn't see munmap().
 */
#pragma once

#include "machine/machine.hpp"
#include "machine/settings_map.hpp"

#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace hmmrt {

class cpu_machine final : public machine {
  public:
    cpu_machine(std::uint32_t devices, std::uint64_t memory_bytes);

    bool shares_page_tables() const override { return true; }
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

    /// Call this when the lanes of a device have ended: removes advice that
    /// names it, and its peer access.
    void unbind(std::uint32_t device_id) noexcept;

  private:
    struct cpu_device {
        int bindings = 0;
        std::uint64_t used = 0;
        std::uint64_t limit = HMMRT_QUOTA_NO_LIMIT;
        std::uint32_t priority = HMMRT_PRIORITY_DEFAULT;
        std::uint64_t refused = 0;
        knob_values knobs = {};
    };
    struct placed_memory {
        std::size_t bytes;
        std::uint32_t device_id;
    };

    /// The first check is for GCC 16, which can't tell that count_ is at most
    /// the size.
    bool exists(std::uint32_t device_id) const {
        return device_id < devices_.size() && device_id < count_;
    }
    bool is_bound(std::uint32_t device_id) const;
    int check_location(std::uint32_t location) const;
    int check_advice(const hmmrt_advise& request) const;
    bool has_room(cpu_device& of, std::uint64_t bytes) const;
    std::uint32_t processors() const;
    int change_knob(const hmmrt_knob& request);
    std::uint32_t knob_value(const hmmrt_knob& request) const;

    const std::uint32_t count_;
    const std::uint64_t memory_bytes_;

    mutable std::mutex lock_;
    std::array<cpu_device, HMMRT_MAX_DEVICES> devices_;
    settings_map settings_;
    knob_values knobs_ = {}; ///< of the process
    std::pmr::map<std::uint64_t, placed_memory> placed_{own_pool()};
    /// (accessing device, peer)
    std::pmr::set<std::pair<std::uint32_t, std::uint32_t>> peers_{own_pool()};
};

} // namespace hmmrt
