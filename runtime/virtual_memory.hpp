// SPDX-License-Identifier: MIT
/*
 * Reserved ranges, and the memory objects that are mapped into them.
 *
 * A reserved range is an anonymous mapping without permissions. Mapping a
 * memory object replaces a part of it by a mapping of the object's file, in one
 * system call, and unmapping puts it back in the same way: the addresses are
 * never free for others. The permissions of such a mapping are what the CPU may
 * do. What devices may do is the kernel's business; this table remembers it. On
 * the cpu device, device code is code of the CPU: there a mapping permits what
 * the CPU or one of the devices may do.
 *
 * A mapping consists of parts, each with rights of its own. Parts of a mapping
 * that lie side by side and have equal rights are joined.
 *
 * Locking: lock_ protects the tables and is held during the system calls that
 * change mappings, so that tables and mappings agree. It is taken below the
 * locks of a device. No memory object is destroyed under it.
 *
 * Failures: what needs memory of the library comes first, then system calls.
 * When one fails, those that succeeded are undone.
 */
#pragma once

#include "memory_object.hpp"
#include "own_memory.hpp"

#include <linux/hmmrt.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>

namespace hmmrt {

/// Addresses: [begin, begin + bytes).
struct address_range {
    std::uint64_t begin;
    std::size_t bytes;

    std::uint64_t end() const { return begin + bytes; }
};

/// What processors may do: 2 bits for each device id, and the host.
struct access_rights {
    std::uint64_t devices = 0;
    std::uint32_t host = 0;

    /// @location: a device id, or HMMRT_LOCATION_HOST.
    std::uint32_t of(std::uint32_t location) const;
    void set(std::uint32_t location, std::uint32_t access);
    /// The access that at least one device has.
    std::uint32_t of_any_device() const;
    bool operator==(const access_rights&) const = default;
};

/// New access of one location.
struct access_change {
    std::uint32_t location;
    std::uint32_t access; ///< HMMRT_ACCESS_*
};

/// What is mapped at an address.
struct mapped_memory {
    address_range mapping;
    hmmMemAllocationType type;
    hmmMemLocation location;
    int device;
    access_rights rights;
};

class virtual_memory {
  public:
    // All functions throw failure, and std::bad_alloc.

    /// Returns the handle.
    std::uint64_t add(memory_object&& fresh);
    void release(std::uint64_t handle);
    std::uint64_t retain(std::uint64_t address);
    hmmMemAllocationProp properties_of(std::uint64_t handle) const;
    /// Returns a descriptor that is the caller's.
    int export_file(std::uint64_t handle) const;

    /// @alignment: a power of two; @hint: 0, or where the range should begin.
    std::uint64_t reserve(std::size_t bytes, std::uint64_t alignment, std::uint64_t hint);
    void unreserve(const address_range& whole);
    void map(const address_range& to, std::uint64_t handle, std::size_t offset);
    void unmap(const address_range& gone);

    /// No location is named twice in @changes.
    void set_access(const address_range& of, std::span<const access_change> changes);
    std::optional<mapped_memory> find(std::uint64_t address) const;
    /// True if @location may do @access with all that is mapped in the range.
    bool permits(const address_range& of, std::uint32_t location, std::uint32_t access) const;
    /// True if a part of the range is reserved.
    bool is_reserved(const address_range& part) const;
    /// The device is reset: the kernel has forgotten its access.
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
    static void destroy(object_table& gone) noexcept;

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

    mutable std::mutex lock_;
    object_table objects_{own_pool()};                             ///< by handle
    std::pmr::map<std::uint64_t, std::size_t> ranges_{own_pool()}; ///< reserved
    part_table parts_{own_pool()};
    std::uint64_t next_handle_ = 0x10000;
    std::uint64_t next_mapping_ = 1;
};

} // namespace hmmrt
