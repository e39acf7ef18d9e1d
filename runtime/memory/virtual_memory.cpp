// SPDX-License-Identifier: MIT
#include "memory/virtual_memory.hpp"

#include "base/failure.hpp"
#include "machine/machine.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <new>
#include <sys/mman.h>
#include <utility>

namespace hmmrt {
namespace {

constexpr int reserved_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
// so that a handle plus a small offset is invalid
constexpr std::uint64_t handle_step = 64;

static_assert(HMMRT_MAX_DEVICES <= 32, "access_rights has 2 bits for each of 32 devices");

bool fits_user_space(std::uint64_t begin, std::size_t bytes) {
    return begin >= user_space_begin && bytes <= user_space_end && begin <= user_space_end - bytes;
}

/// Returns 0 if the addresses aren't free.
std::uint64_t reserve_at(std::uint64_t begin, std::size_t bytes) {
    const std::int64_t got =
        sys::map(begin, bytes, PROT_NONE, reserved_flags | MAP_FIXED_NOREPLACE, -1);
    if (got < 0 || static_cast<std::uint64_t>(got) == begin) return got < 0 ? 0 : begin;
    sys::unmap(static_cast<std::uint64_t>(got), bytes); // the kernel doesn't know the flag
    return 0;
}

std::uint64_t reserve_anywhere(std::size_t bytes, std::uint64_t alignment) {
    std::size_t all = 0;
    if (__builtin_add_overflow(bytes, alignment - page_size, &all)) throw std::bad_alloc();
    const std::int64_t got = sys::map(0, all, PROT_NONE, reserved_flags, -1);
    if (got < 0)
        throw failure(hmmErrorMemoryAllocation,
                      describe_errno("reserving addresses", static_cast<int>(got)));
    const auto begin = static_cast<std::uint64_t>(got);
    const std::uint64_t aligned = (begin + alignment - 1) & ~(alignment - 1);
    const std::uint64_t tail = begin + all - (aligned + bytes);
    if (aligned > begin) sys::unmap(begin, aligned - begin);
    if (tail > 0) sys::unmap(aligned + bytes, tail);
    return aligned;
}

/// Replaces mappings in the range with a reservation. A failing system call may
/// have removed the old mappings; then the second attempt, which replaces
/// nothing, fills the hole.
int clear_mapping(const address_range& gone) {
    const std::int64_t got =
        sys::map(gone.begin, gone.bytes, PROT_NONE, reserved_flags | MAP_FIXED, -1);
    if (got >= 0 || reserve_at(gone.begin, gone.bytes) != 0) return 0;
    return static_cast<int>(got);
}

/// Maps a file over a reserved range. If that fails, reserves the range again, unless another
/// thread has mapped something into the hole.
int map_file(machine& of, const address_range& to, int fd, std::size_t offset) {
    const std::int64_t got =
        sys::map(to.begin, to.bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, offset);
    if (got < 0) {
        reserve_at(to.begin, to.bytes);
        return static_cast<int>(got);
    }
    if (!of.shares_page_tables()) return 0;
    // The modules do this for their own files.
    const int error = sys::advise(to.begin, to.bytes, MADV_DONTFORK);
    if (error < 0) clear_mapping(to);
    return error;
}

int protection_for(std::uint32_t access) {
    return ((access & HMMRT_ACCESS_READ) != 0 ? PROT_READ : PROT_NONE) |
           ((access & HMMRT_ACCESS_WRITE) != 0 ? PROT_WRITE : PROT_NONE);
}

int protection_of(machine& of, const access_rights& rights) {
    const bool shared = of.shares_page_tables();
    return protection_for(rights.host | (shared ? rights.of_any_device() : 0));
}

access_rights changed(access_rights rights, std::span<const access_change> changes) {
    for (const access_change& each : changes)
        rights.set(each.location, each.access);
    return rights;
}

int set_device_access(machine& where, const address_range& of, const access_change& change) {
    hmmrt_access request = {};
    request.addr = of.begin;
    request.len = of.bytes;
    request.operation = HMMRT_ACCESS_SET;
    request.device_id = change.location;
    request.access = change.access;
    return where.control_access(request);
}

} // namespace

std::uint32_t access_rights::of(std::uint32_t location) const {
    if (location >= HMMRT_MAX_DEVICES) return host;
    return static_cast<std::uint32_t>(devices >> (2 * location)) & 3;
}

void access_rights::set(std::uint32_t location, std::uint32_t access) {
    if (location >= HMMRT_MAX_DEVICES) {
        host = access;
        return;
    }
    devices &= ~(std::uint64_t{3} << (2 * location));
    devices |= std::uint64_t{access} << (2 * location);
}

std::uint32_t access_rights::of_any_device() const {
    constexpr std::uint64_t reads = 0x5555555555555555, writes = reads << 1;
    return ((devices & reads) != 0 ? HMMRT_ACCESS_READ : 0u) |
           ((devices & writes) != 0 ? HMMRT_ACCESS_WRITE : 0u);
}

// ---- memory objects

std::uint64_t virtual_memory::add(memory_object&& fresh) {
    const std::lock_guard lock(lock_);
    const std::uint64_t handle = next_handle_;
    fresh.handle = handle;
    fresh.handles = 1;
    try {
        objects_.emplace(handle, std::move(fresh)); // doesn't move from it if it throws
    } catch (...) {
        if (fresh.charged) machine_.get().forget_object(fresh.location, fresh.bytes);
        throw;
    }
    next_handle_ += handle_step;
    return handle;
}

const memory_object& virtual_memory::object_of(std::uint64_t handle) const {
    const auto found = objects_.find(handle);
    if (found == objects_.end() || found->second.handles == 0)
        throw failure(hmmErrorInvalidResourceHandle, "no such memory object, or already released");
    return found->second;
}

memory_object& virtual_memory::object_of(std::uint64_t handle) {
    return const_cast<memory_object&>(std::as_const(*this).object_of(handle));
}

void virtual_memory::take_if_unused(const memory_object& object, object_table& gone) noexcept {
    if (object.handles == 0 && object.mapped == 0) gone.insert(objects_.extract(object.handle));
}

void virtual_memory::destroy(object_table& gone) noexcept {
    for (auto at = gone.begin(); at != gone.end();) {
        const bool charged = at->second.charged;
        const std::uint32_t location = at->second.location;
        const std::size_t bytes = at->second.bytes;
        at = gone.erase(at);
        if (charged) machine_.get().forget_object(location, bytes);
    }
}

void virtual_memory::release(std::uint64_t handle) {
    object_table gone(own_pool());
    {
        const std::lock_guard lock(lock_);
        memory_object& object = object_of(handle);
        object.handles--;
        take_if_unused(object, gone);
    }
    destroy(gone);
}

std::uint64_t virtual_memory::retain(std::uint64_t address) {
    const std::lock_guard lock(lock_);
    const auto found = holding(address);
    require(found != parts_.end(), "no memory object is mapped there");
    found->second.object->handles++;
    return found->second.object->handle;
}

hmmMemAllocationProp virtual_memory::properties_of(std::uint64_t handle) const {
    const std::lock_guard lock(lock_);
    return object_of(handle).properties;
}

int virtual_memory::export_file(std::uint64_t handle) const {
    const std::lock_guard lock(lock_);
    const int fd = sys::duplicate_file(object_of(handle).file.get());
    if (fd < 0) throw failure(hmmErrorOperatingSystem, describe_errno("descriptor", fd));
    return fd;
}

// ---- addresses

std::uint64_t virtual_memory::reserve(std::size_t bytes, std::uint64_t alignment,
                                      std::uint64_t hint) {
    std::uint64_t begin = 0;
    if (hint != 0 && hint % alignment == 0 && fits_user_space(hint, bytes))
        begin = reserve_at(hint, bytes);
    if (begin == 0) begin = reserve_anywhere(bytes, alignment);
    try {
        const std::lock_guard lock(lock_);
        ranges_.emplace(begin, bytes);
    } catch (...) {
        sys::unmap(begin, bytes);
        throw;
    }
    return begin;
}

void virtual_memory::unreserve(const address_range& whole) {
    const std::lock_guard lock(lock_);
    const auto found = ranges_.find(whole.begin);
    require(found != ranges_.end() && found->second == whole.bytes,
            "not a range returned by hmmMemAddressReserve(), or already freed");
    require(!touches_mapping(whole), "part of the range is mapped");
    machine_.get().unmapped(whole.begin, whole.bytes);
    if (const int error = sys::unmap(whole.begin, whole.bytes); error < 0)
        throw_memory_error("freeing addresses", error);
    ranges_.erase(found);
}

bool virtual_memory::is_reserved(const address_range& part) const {
    const std::lock_guard lock(lock_);
    auto at = ranges_.lower_bound(part.end());
    return at != ranges_.begin() && (--at)->first + at->second > part.begin;
}

bool virtual_memory::is_all_reserved(const address_range& all) const {
    auto at = ranges_.upper_bound(all.begin);
    if (at == ranges_.begin()) return false;
    std::uint64_t reached = all.begin;
    for (--at; at != ranges_.end() && at->first <= reached; ++at) {
        reached = at->first + at->second;
        if (reached >= all.end()) return true;
        if (reached <= all.begin) return false;
    }
    return false;
}

virtual_memory::part_table::const_iterator virtual_memory::holding(std::uint64_t address) const {
    auto at = parts_.upper_bound(address);
    if (at == parts_.begin() || address - (--at)->first >= at->second.bytes) return parts_.end();
    return at;
}

bool virtual_memory::is_all_mapped(const address_range& all) const {
    std::uint64_t reached = all.begin;
    for (auto at = holding(all.begin); at != parts_.end() && at->first <= reached; ++at) {
        reached = at->first + at->second.bytes;
        if (reached >= all.end()) return true;
    }
    return false;
}

bool virtual_memory::touches_mapping(const address_range& part) const {
    auto at = parts_.lower_bound(part.end());
    return at != parts_.begin() && (--at)->first + at->second.bytes > part.begin;
}

/// Splits a part if the address is in the middle of it.
void virtual_memory::split(std::uint64_t address) {
    const auto found = parts_.find(address);
    const auto at = holding(address);
    if (found != parts_.end() || at == parts_.end()) return;
    mapped_part& first = parts_.find(at->first)->second;
    mapped_part second = first;
    const std::size_t bytes = address - at->first;
    second.bytes -= bytes;
    second.offset += bytes;
    parts_.emplace(address, second);
    first.bytes = bytes;
    first.object->mapped++;
}

/// Joins equal parts in the range and at its ends.
void virtual_memory::join(const address_range& around) noexcept {
    auto at = parts_.lower_bound(around.begin);
    if (at != parts_.begin()) --at;
    while (at != parts_.end() && at->first < around.end()) {
        const auto next = std::next(at);
        mapped_part& first = at->second;
        if (next == parts_.end() || next->second.mapping != first.mapping ||
            next->first != at->first + first.bytes || next->second.rights != first.rights) {
            at = next;
            continue;
        }
        first.bytes += next->second.bytes;
        first.object->mapped--;
        parts_.erase(next);
    }
}

void virtual_memory::map(const address_range& to, std::uint64_t handle, std::size_t offset) {
    const std::lock_guard lock(lock_);
    memory_object& object = object_of(handle);
    require(offset <= object.bytes && to.bytes <= object.bytes - offset,
            "the range extends beyond the end of the memory object");
    require(is_all_reserved(to), "part of the range is not reserved");
    require(!touches_mapping(to), "part of the range is already mapped");
    const mapped_part fresh = {to.bytes, &object, offset, next_mapping_, {}};
    const auto added = parts_.emplace(to.begin, fresh).first;
    if (const int error = map_file(machine_.get(), to, object.file.get(), offset); error < 0) {
        parts_.erase(added);
        throw_memory_error("mapping a memory object", error);
    }
    machine_.get().unmapped(to.begin, to.bytes); // the reservation
    object.mapped++;
    next_mapping_++;
}

void virtual_memory::unmap(const address_range& gone) {
    object_table unused(own_pool());
    {
        const std::lock_guard lock(lock_);
        require(is_all_mapped(gone), "no memory object is mapped in part of the range");
        split(gone.begin);
        split(gone.end());
        if (const int error = clear_mapping(gone); error < 0) {
            join(gone);
            throw_memory_error("unmapping a memory object", error);
        }
        machine_.get().unmapped(gone.begin, gone.bytes);
        for (auto at = parts_.find(gone.begin); at != parts_.end() && at->first < gone.end();) {
            memory_object& object = *at->second.object;
            at = parts_.erase(at);
            object.mapped--;
            take_if_unused(object, unused);
        }
    }
    destroy(unused);
}

// ---- access

/// Sets the permissions of the parts [first, last) to those after @changes.
/// Unless @all, skips parts that have them already. Returns 0 or -errno.
int virtual_memory::protect(part_table::iterator first, part_table::iterator last,
                            std::span<const access_change> changes, bool all) noexcept {
    address_range run = {0, 0}; // adjacent parts with the same new permissions
    int wanted = PROT_NONE, error = 0;
    machine& of = machine_.get();
    const auto finish = [&] {
        if (run.bytes == 0 || error < 0) return;
        error = sys::protect(run.begin, run.bytes, wanted);
    };
    for (auto at = first; at != last; ++at) {
        const int protection = protection_of(of, changed(at->second.rights, changes));
        if (!all && protection == protection_of(of, at->second.rights)) continue;
        if (at->first != run.end() || protection != wanted) {
            finish();
            run = {at->first, 0};
            wanted = protection;
        }
        run.bytes += at->second.bytes;
    }
    finish();
    return error;
}

void virtual_memory::set_device_access(const address_range& of,
                                       std::span<const access_change> changes) {
    for (std::size_t i = 0; i < changes.size(); i++) {
        if (changes[i].location >= HMMRT_MAX_DEVICES) continue;
        const int error = hmmrt::set_device_access(machine_.get(), of, changes[i]);
        if (error >= 0) continue;
        undo_device_access(of, changes.first(i));
        if (error == -EOPNOTSUPP)
            throw failure(hmmErrorNotSupported, describe_errno("access", error) +
                                                    "; the device cannot access this memory");
        throw_memory_error("access", error);
    }
}

/// Restores the access recorded in the table.
void virtual_memory::undo_device_access(const address_range& of,
                                        std::span<const access_change> changes) noexcept {
    for (const access_change& each : changes) {
        if (each.location >= HMMRT_MAX_DEVICES) continue;
        for (auto at = parts_.find(of.begin); at != parts_.end() && at->first < of.end(); ++at)
            hmmrt::set_device_access(machine_.get(), {at->first, at->second.bytes},
                                     {each.location, at->second.rights.of(each.location)});
    }
}

void virtual_memory::set_access(const address_range& of, std::span<const access_change> changes) {
    const std::lock_guard lock(lock_);
    require(is_all_mapped(of), "no memory object is mapped in part of the range");
    split(of.begin);
    split(of.end());
    const auto first = parts_.find(of.begin), last = parts_.lower_bound(of.end());
    try {
        set_device_access(of, changes);
        if (const int error = protect(first, last, changes, false); error < 0) {
            protect(first, last, {}, true);
            undo_device_access(of, changes);
            if (error == -EACCES)
                throw failure(hmmErrorNotSupported, describe_errno("CPU access", error) +
                                                        "; the CPU cannot access this memory");
            throw_memory_error("CPU access", error);
        }
    } catch (...) {
        join(of);
        throw;
    }
    for (auto at = first; at != last; ++at)
        at->second.rights = changed(at->second.rights, changes);
    join(of);
}

std::optional<mapped_memory> virtual_memory::find(std::uint64_t address) const {
    const std::lock_guard lock(lock_);
    const auto found = holding(address);
    if (found == parts_.end()) return std::nullopt;
    const auto continues = [](const auto& before, const auto& after) {
        return before.second.mapping == after.second.mapping &&
               before.first + before.second.bytes == after.first;
    };
    auto first = found, last = found;
    while (first != parts_.begin() && continues(*std::prev(first), *first))
        --first;
    while (std::next(last) != parts_.end() && continues(*last, *std::next(last)))
        ++last;
    const memory_object& object = *found->second.object;
    return mapped_memory{{first->first, last->first + last->second.bytes - first->first},
                         object.properties.type,
                         object.properties.location,
                         object.device,
                         found->second.rights};
}

bool virtual_memory::permits(const address_range& of, std::uint32_t location,
                             std::uint32_t access) const {
    const std::lock_guard lock(lock_);
    auto at = parts_.upper_bound(of.begin);
    if (at != parts_.begin() && std::prev(at)->first + std::prev(at)->second.bytes > of.begin) --at;
    for (; at != parts_.end() && at->first < of.end(); ++at)
        if ((at->second.rights.of(location) & access) != access) return false;
    return true;
}

void virtual_memory::forget_device(std::uint32_t device_id) noexcept {
    const access_change none[] = {{device_id, 0}};
    const std::lock_guard lock(lock_);
    protect(parts_.begin(), parts_.end(), none, false);
    for (auto& [begin, each] : parts_)
        each.rights.set(device_id, 0);
    join({0, user_space_end});
}

} // namespace hmmrt
