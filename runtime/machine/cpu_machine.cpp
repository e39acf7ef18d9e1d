// SPDX-License-Identifier: MIT
#include "machine/cpu_machine.hpp"

#include "base/fork_guard.hpp"
#include "machine/cpu_lanes.hpp"
#include "machine/knobs.hpp"
#include "sys/syscalls.hpp"
#include "thread/exit_guard.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

namespace hmmrt {
namespace {

constexpr std::uint32_t block_bytes = 2u << 20;
constexpr const char* object_prefix = "hmmrt-object-";

bool is_mapped(std::uint64_t addr, std::uint64_t len) {
    return sys::is_mapped(addr, len);
}

std::uint32_t bit_of(std::uint32_t location) {
    return location < HMMRT_MAX_DEVICES ? 1u << location : HMMRT_BY_CPU;
}

bool is_node(std::uint32_t location) {
    return location >= HMMRT_LOCATION_HOST_NODE(0u) &&
           location <= HMMRT_LOCATION_HOST_NODE(HMMRT_LOCATION_MAX_NODE);
}

bool node_is_online(std::uint32_t node) {
    std::string unused;
    const std::string file = "/sys/devices/system/node/node" + std::to_string(node) + "/cpulist";
    // kernels without NUMA have one node and lack this directory
    return node == 0 || sys::read_whole_file(file.c_str(), unused) >= 0;
}

/// Applies advice to the settings of a page.
void apply(const hmmrt_advise& request, page_settings& page) {
    switch (request.advice) {
    case HMMRT_ADVICE_SET_READ_MOSTLY:
        page.flags |= HMMRT_RANGE_READ_MOSTLY;
        break;
    case HMMRT_ADVICE_UNSET_READ_MOSTLY:
        page.flags &= ~HMMRT_RANGE_READ_MOSTLY;
        break;
    case HMMRT_ADVICE_SET_PREFERRED_LOCATION:
        page.preferred = request.location;
        break;
    case HMMRT_ADVICE_UNSET_PREFERRED_LOCATION:
        page.preferred = HMMRT_LOCATION_NONE;
        break;
    case HMMRT_ADVICE_SET_ACCESSED_BY:
        page.accessed_by |= bit_of(request.location);
        break;
    case HMMRT_ADVICE_UNSET_ACCESSED_BY:
        page.accessed_by &= ~bit_of(request.location);
        break;
    case HMMRT_ADVICE_SET_NO_MIGRATE:
        page.flags |= HMMRT_RANGE_NO_MIGRATE;
        break;
    case HMMRT_ADVICE_UNSET_NO_MIGRATE:
        page.flags &= ~HMMRT_RANGE_NO_MIGRATE;
        break;
    case HMMRT_ADVICE_SET_GRANULARITY:
    case HMMRT_ADVICE_UNSET_GRANULARITY:
        page.granularity = request.value;
        break;
    }
}

/// Keeps in @all only what it has in common with @page.
void keep_common(hmmrt_range_attributes& all, const page_settings& page) {
    all.out_flags &= page.flags;
    all.out_accessed_by &= page.accessed_by;
    if (page.preferred != all.out_preferred_location)
        all.out_preferred_location = HMMRT_LOCATION_NONE;
    if (page.last_prefetch != all.out_last_prefetch) all.out_last_prefetch = HMMRT_LOCATION_NONE;
    if (page.granularity != all.out_granularity) all.out_granularity = 0;
}

} // namespace

cpu_machine::cpu_machine(std::uint32_t devices, std::uint64_t memory_bytes)
    : count_(devices), memory_bytes_(memory_bytes) {}

hmmrt_info cpu_machine::info() {
    hmmrt_info info = {};
    info.out_uapi_version = HMMRT_UAPI_VERSION;
    info.out_devices = count_;
    info.out_page_size = page_size;
    info.out_block_size = block_bytes;
    return info;
}

int cpu_machine::get_device_info(hmmrt_device_info& info) {
    if (!exists(info.device_id)) return -ENODEV;
    const std::lock_guard lock(lock_);
    info.out_memory_bytes = memory_bytes_;
    info.out_used_bytes = devices_[info.device_id].used;
    info.out_numa_node = -1;
    info.out_properties = HMMRT_PROPERTY_NATIVE_ATOMICS | HMMRT_PROPERTY_COHERENT;
    std::snprintf(reinterpret_cast<char*>(info.out_name), sizeof(info.out_name), "hmmrt-cpu%u",
                  info.device_id);
    return 0;
}

std::unique_ptr<executor> cpu_machine::start(const executor_options& options) {
    fork_guard::arm();
    prepare_exit_guard();
    auto lanes = std::make_unique<cpu_lanes>(*this, options);
    const std::lock_guard lock(lock_);
    devices_[options.device_id].bindings++;
    return lanes;
}

void cpu_machine::unbind(std::uint32_t device_id) noexcept {
    const std::lock_guard lock(lock_);
    if (--devices_[device_id].bindings > 0) return;
    settings_.change_all([=](page_settings& page) {
        if (page.preferred == device_id) page.preferred = HMMRT_LOCATION_NONE;
        page.accessed_by &= ~bit_of(device_id);
    });
    std::erase_if(peers_, [=](const auto& pair) {
        return pair.first == device_id || pair.second == device_id;
    });
}

bool cpu_machine::is_bound(std::uint32_t device_id) const {
    return exists(device_id) && devices_[device_id].bindings > 0;
}

/// Returns 0, -EINVAL or -ENODEV.
int cpu_machine::check_location(std::uint32_t location) const {
    if (location == HMMRT_LOCATION_HOST) return 0;
    if (is_node(location)) return node_is_online(location & HMMRT_LOCATION_MAX_NODE) ? 0 : -EINVAL;
    if (is_bound(location)) return 0;
    return location < HMMRT_LOCATION_HOST_NODE(0) ? -ENODEV : -EINVAL;
}

int cpu_machine::prefetch(hmmrt_prefetch& request) {
    const std::lock_guard lock(lock_);
    if (const int error = check_location(request.location); error < 0) return error;
    if (!is_mapped(request.addr, request.len)) return -EFAULT;
    settings_.change(request.addr, request.addr + request.len,
                     [&](page_settings& page) { page.last_prefetch = request.location; });
    request.out_pages_there = request.len / page_size;
    if (request.outcomes != 0)
        std::memset(reinterpret_cast<void*>(request.outcomes), HMMRT_OUTCOME_THERE,
                    request.out_pages_there);
    return 0;
}

int cpu_machine::check_advice(const hmmrt_advise& request) const {
    if (!is_mapped(request.addr, request.len)) return -EFAULT;
    if (request.advice != HMMRT_ADVICE_SET_PREFERRED_LOCATION &&
        request.advice != HMMRT_ADVICE_SET_ACCESSED_BY)
        return 0;
    return check_location(request.location);
}

int cpu_machine::advise(hmmrt_advise& request) {
    const std::lock_guard lock(lock_);
    if (const int error = check_advice(request); error < 0) return error;
    settings_.change(request.addr, request.addr + request.len,
                     [&](page_settings& page) { apply(request, page); });
    return 0;
}

int cpu_machine::get_range_attributes(hmmrt_range_attributes& request) {
    const std::lock_guard lock(lock_);
    if (!is_mapped(request.addr, request.len)) return -EFAULT;
    const page_settings& first = settings_.at(request.addr);
    request.out_flags = first.flags;
    request.out_accessed_by = first.accessed_by;
    request.out_preferred_location = first.preferred;
    request.out_last_prefetch = first.last_prefetch;
    request.out_granularity = first.granularity;
    settings_.visit(request.addr, request.addr + request.len,
                    [&](const page_settings& page) { keep_common(request, page); });
    return 0;
}

int cpu_machine::get_residency(hmmrt_residency& request) {
    if (!is_mapped(request.addr, request.len)) return -EFAULT;
    std::fill_n(reinterpret_cast<std::uint32_t*>(request.locations), request.len / page_size,
                HMMRT_LOCATION_HOST);
    return 0;
}

/// The CPU and all started devices.
std::uint32_t cpu_machine::processors() const {
    const std::lock_guard lock(lock_);
    std::uint32_t mask = HMMRT_BY_CPU;
    for (std::uint32_t id = 0; id < count_; id++)
        if (is_bound(id)) mask |= bit_of(id);
    return mask;
}

int cpu_machine::get_pages(hmmrt_pages& request) {
    if (!is_mapped(request.addr, request.len)) return -EFAULT;
    hmmrt_page all = {};
    all.location = HMMRT_LOCATION_HOST;
    all.mapped_by = all.written_by = processors();
    const bool locked = sys::has_locked(request.addr, request.len);
    auto* const pages = reinterpret_cast<hmmrt_page*>(request.pages);
    for (std::uint64_t i = 0; i < request.len / page_size; i++) {
        pages[i] = all;
        if (locked && sys::has_locked(request.addr + i * page_size, page_size))
            pages[i].flags = HMMRT_PAGE_LOCKED;
    }
    return 0;
}

int cpu_machine::control_peer(hmmrt_peer& request) {
    const std::pair pair(request.device_id, request.peer_id);
    const std::lock_guard lock(lock_);
    if (!is_bound(request.device_id) || !is_bound(request.peer_id)) return -ENODEV;
    if (request.operation == HMMRT_PEER_ENABLE) peers_.insert(pair);
    if (request.operation == HMMRT_PEER_DISABLE) peers_.erase(pair);
    request.out_possible = 1;
    request.out_enabled = peers_.count(pair) != 0 ? 1 : 0;
    return 0;
}

/// Doesn't check permissions, because no other program uses this device.
int cpu_machine::change_knob(const hmmrt_knob& request) {
    const std::uint32_t fresh = request.operation == HMMRT_KNOB_SET ? request.value + 1 : 0;
    switch (request.scope) {
    case HMMRT_SCOPE_DEVICE:
        devices_[request.device_id].knobs[request.knob] = fresh;
        return 0;
    case HMMRT_SCOPE_SPACE:
        knobs_[request.knob] = fresh;
        return 0;
    default:
        settings_.change(request.addr, request.addr + request.len,
                         [&](page_settings& page) { page.knobs[request.knob] = fresh; });
        return 0;
    }
}

/// The value in effect: the range's, or else the process's, or else the
/// device's.
std::uint32_t cpu_machine::knob_value(const hmmrt_knob& request) const {
    const std::uint32_t of_device = devices_[request.device_id].knobs[request.knob];
    std::uint32_t found = of_device;
    if (request.scope != HMMRT_SCOPE_DEVICE && knobs_[request.knob] != 0)
        found = knobs_[request.knob];
    if (request.scope == HMMRT_SCOPE_RANGE) {
        const std::uint32_t of_page = settings_.at(request.addr).knobs[request.knob];
        if (of_page != 0) found = of_page;
    }
    return found != 0 ? found - 1 : knob_descriptions[request.knob].standard;
}

int cpu_machine::control_knob(hmmrt_knob& request) {
    if (request.knob >= HMMRT_KNOBS) return -EINVAL;
    if (!exists(request.device_id)) return -ENODEV;
    const knob_description& knob = knob_descriptions[request.knob];
    if ((knob.scopes & request.scope) == 0) return -EINVAL;
    if (request.operation == HMMRT_KNOB_SET &&
        (request.value < knob.minimum || request.value > knob.maximum))
        return -EINVAL;
    if (request.scope == HMMRT_SCOPE_RANGE && !is_mapped(request.addr, request.len)) return -EFAULT;
    const std::lock_guard lock(lock_);
    if (request.operation != HMMRT_KNOB_GET)
        if (const int error = change_knob(request); error < 0) return error;
    request.out_value = knob_value(request);
    request.out_min = knob.minimum;
    request.out_max = knob.maximum;
    request.out_default = knob.standard;
    request.out_scopes = knob.scopes;
    std::strncpy(reinterpret_cast<char*>(request.out_name), knob.name, HMMRT_KNOB_NAME_LEN - 1);
    return 0;
}

/// All counters are 0: no page moves and nothing faults.
int cpu_machine::get_stats(hmmrt_stats& request) {
    const std::lock_guard lock(lock_);
    return is_bound(request.device_id) ? 0 : -ENODEV;
}

/// Nothing to do: there are no events, so nobody observes annotations.
int cpu_machine::annotate(hmmrt_annotate&) {
    return 0;
}

int cpu_machine::control_quota(hmmrt_quota& request) {
    if (request.scope != HMMRT_QUOTA_OF_SPACE) return -EOPNOTSUPP;
    if (!exists(request.device_id)) return -ENODEV;
    const std::lock_guard lock(lock_);
    cpu_device& of = devices_[request.device_id];
    if (request.operation == HMMRT_QUOTA_SET) {
        of.limit = request.limit_bytes;
        of.priority = request.priority;
    }
    request.out_limit_bytes = of.limit;
    request.out_priority = of.priority;
    request.out_used_bytes = of.used;
    request.out_refused = of.refused;
    request.out_evicted_bytes = 0;
    return 0;
}

/// The memfd's name describes the memory object, so that other processes can
/// read it too.
int cpu_machine::create_object(hmmrt_object_create& request) {
    const bool on_device = request.location < HMMRT_MAX_DEVICES;
    if (on_device && !exists(request.location)) return -ENODEV;
    if (!on_device)
        if (const int error = check_location(request.location); error < 0) return error;
    const bool pinned = (request.flags & HMMRT_OBJECT_MIGRATABLE) == 0;
    cpu_device* const charged = on_device && pinned ? &devices_[request.location] : nullptr;
    if (request.bytes > INT64_MAX || (pinned && request.bytes > sys::physical_memory()))
        return -ENOMEM;
    char name[64];
    std::snprintf(name, sizeof(name), "%s%x.%x", object_prefix, request.location, request.flags);
    const std::lock_guard lock(lock_);
    if (charged && !has_room(*charged, request.bytes)) return -ENOMEM;
    request.out_fd = sys::create_shared_memory(name, request.bytes);
    if (request.out_fd < 0) return request.out_fd;
    if (charged) charged->used += request.bytes;
    return 0;
}

int cpu_machine::get_object_info(int fd, hmmrt_object_info& info) {
    std::string name;
    std::size_t bytes = 0;
    if (sys::describe_shared_memory(fd, name, bytes) < 0 || !name.starts_with(object_prefix))
        return -EINVAL;
    const char* const described = name.c_str() + std::strlen(object_prefix);
    if (std::sscanf(described, "%x.%x", &info.out_location, &info.out_flags) != 2) return -EINVAL;
    info.out_bytes = info.out_resident_bytes = bytes;
    return 0;
}

void cpu_machine::forget_object(std::uint32_t location, std::size_t bytes) noexcept {
    const std::lock_guard lock(lock_);
    if (location < HMMRT_MAX_DEVICES) devices_[location].used -= bytes;
}

/// Nothing to change: the library remembers the rights.
int cpu_machine::control_access(hmmrt_access& request) {
    const std::lock_guard lock(lock_);
    return is_bound(request.device_id) ? 0 : -ENODEV;
}

/// The pages are already there, but it counts as a prefetch, as with the
/// modules.
void cpu_machine::migrate_back(std::uint64_t address, std::size_t bytes) {
    hmmrt_prefetch request = {};
    request.addr = address;
    request.len = bytes;
    request.location = HMMRT_LOCATION_HOST;
    try {
        prefetch(request);
    } catch (const std::bad_alloc&) {
        // The range keeps its previous last prefetch.
    }
}

/// If there is no room, counts a refusal.
bool cpu_machine::has_room(cpu_device& of, std::uint64_t bytes) const {
    const std::uint64_t size = std::min(memory_bytes_, of.limit);
    if (of.used <= size && bytes <= size - of.used) return true;
    of.refused++;
    return false;
}

int cpu_machine::place(std::uint64_t address, std::size_t bytes, std::uint32_t device_id) {
    const std::lock_guard lock(lock_);
    if (!is_bound(device_id)) return -ENODEV;
    cpu_device& of = devices_[device_id];
    const auto known = placed_.find(address); // being reused by a pool
    if (known == placed_.end() && !has_room(of, bytes)) return -ENOMEM;
    settings_.change(address, address + bytes,
                     [=](page_settings& page) { page.preferred = device_id; });
    if (known != placed_.end()) return 0;
    placed_.emplace(address, placed_memory{bytes, device_id});
    of.used += bytes;
    return 0;
}

void cpu_machine::unmapped(std::uint64_t address, std::size_t bytes) noexcept {
    const std::lock_guard lock(lock_);
    try {
        settings_.change(address, address + bytes, [](page_settings& page) { page = {}; });
    } catch (const std::bad_alloc&) {
        // Advice that stays behind has no effect.
    }
    // if part of a slab is remapped, the slab keeps its memory
    const auto found = placed_.find(address);
    if (found != placed_.end() && found->second.bytes == bytes) {
        devices_[found->second.device_id].used -= found->second.bytes;
        placed_.erase(found);
    }
}

} // namespace hmmrt
