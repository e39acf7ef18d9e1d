// SPDX-License-Identifier: MIT
/*
 * Reserved ranges, and the memory objects mapped into them.
 *
 * A reserved range is an anonymous mapping without permissions. Mapping a
 * memory object replaces part of it with a mapping of the object's file in one
 * system call, and unmapping restores it in the same way, so the addresses
 * never become free for others, unless such a call fails halfway. The
 * permissions of such a mapping are those of the CPU. The kernel controls
 * device access, which this table only remembers. On the cpu device, device
 * code runs on the CPU, so there a mapping permits what the CPU or any device
 * may do.
 *
 * A mapping consists of parts with individual rights. We join adjacent parts of
 * a mapping that have equal rights.
 *
 * Locking: lock_ protects the tables and is held during the system calls that
 * change mappings, so that tables and mappings agree. It nests inside the locks
 * of a device. We never destroy a memory object under it.
 *
 * Failures: we allocate first, and then make system calls. When one fails, we
 * undo those that succeeded.
 */
#pragma once

#include "base/own_memory.hpp"
#include "memory/memory_object.hpp"

#include <linux/hmmrt.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>

namespace hmmrt {

class chosen_machine;

/// Addresses: [begin, begin + bytes).
struct address_range {
    std::uint64_t begin;
    std::size_t bytes;

    std::uint64_t end() const { return begin + bytes; }
};

/// The permitted accesses: 2 bits for each device id, and for the host.
struct access_rights {
    std::uint64_t devices = 0;
    std::uint32_t host = 0;

    /// @location: a device id, or HMMRT_LOCATION_HOST.
    std::uint32_t of(std::uint32_t location) const;
    void set(std::uint32_t location, std::uint32_t access);
    /// The union of all devices' access.
    std::uint32_t of_any_device() const;
    bool operator==(const access_rights&) const = default;
};

/// New access of one location.
struct access_change {
    std::uint32_t location;
    std::uint32_t access; ///< HMMRT_ACCESS_*
};

/// Describes what is mapped at an address.
struct mapped_memory {
    address_range mapping;
    hmmMemAllocationType type;
    hmmMemLocation location;
    int device;
    access_rights rights;
};

class virtual_memory {
  public:
    explicit virtual_memory(chosen_machine& of) : machine_(of) {}

    // All functions may throw failure and std::bad_alloc.

    /// Returns the handle.
    std::uint64_t add(memory_object&& fresh);
    void release(std::uint64_t handle);
    std::uint64_t retain(std::uint64_t address);
    hmmMemAllocationProp properties_of(std::uint64_t handle) const;
    /// Returns a descriptor, which the caller owns.
    int export_file(std::uint64_t handle) const;

    /// @alignment: a power of two; @hint: 0, or the preferred address.
    std::uint64_t reserve(std::size_t bytes, std::uint64_t alignment, std::uint64_t hint);
    void unreserve(const address_range& whole);
    void map(const address_range& to, std::uint64_t handle, std::size_t offset);
    void unmap(const address_range& gone);

    /// @changes must not contain a location twice.
    void set_access(const address_range& of, std::span<const access_change> changes);
    std::optional<mapped_memory> find(std::uint64_t address) const;
    /// True if @location has @access to everything mapped in the range.
    bool permits(const address_range& of, std::uint32_t location, std::uint32_t access) const;
    /// True if a part of the range is reserved.
    bool is_reserved(const address_range& part) const;
    /// Call this when a device is reset: the kernel has forgotten its access.
    void forget_device(std::uint32_t device_id) noexcept;

  private:
    struct mapped_part {
        std::size_t bytes;
        memory_object* object;
        std::size_t offset;    ///< in the memory object
        std::uint64_t mapping; ///< the number of the hmmMemMap() call
        access_rights rights;
    };
    using part_table = std::pmr::map<std::uint64_t, mapped_part>;
    using object_table = std::pmr::map<std::uint64_t, memory_object>;

    const memory_object& object_of(std::uint64_t handle) const;
    memory_object& object_of(std::uint64_t handle);
    void take_if_unused(const memory_object& object, object_table& gone) noexcept;
    void destroy(object_table& gone) noexcept;

    part_table::const_iterator holding(std::uint64_t address) const;
    bool is_all_mapped(const address_range& all) const;
    bool touches_mapping(const address_range& part) const;
    bool is_all_reserved(const address_range& all) const;
    void split(std::uint64_t address);
    void join(const address_range& around) noexcept;

    int protect(part_table::iterator first, part_table::iterator last,
                std::span<const access_change> changes, bool all) noexcept;
    void set_device_access(const address_range& of, std::span<const access_change> changes);
    void undo_device_access(const address_range& of,
                            std::span<const access_change> changes) noexcept;

    chosen_machine& machine_;
    mutable std::mutex lock_;
    object_table objects_{own_pool()};                             ///< by handle
    std::pmr::map<std::uint64_t, std::size_t> ranges_{own_pool()}; ///< reserved
    part_table parts_{own_pool()};
    std::uint64_t next_handle_ = 0x10000;
    std::uint64_t next_mapping_ = 1;
};

} // namespace hmmrt
