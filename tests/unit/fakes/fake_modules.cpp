// SPDX-License-Identifier: MIT
#include "fakes/fake_modules.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fakes {
namespace {

constexpr std::uint64_t page = 4096;

int check(std::uint64_t addr, std::uint64_t len) {
    if (len == 0 || addr % page != 0 || len % page != 0) return -EINVAL;
    return fake_memory::is_mapped(addr, len) ? 0 : -EFAULT;
}

std::uint32_t bit_of(std::uint32_t location) {
    return location == HMMRT_LOCATION_HOST ? HMMRT_BY_CPU : 1u << location;
}

void advise_page(fake_page& one, const hmmrt_advise& request) {
    switch (static_cast<hmmrt_advice_kind>(request.advice)) {
    case HMMRT_ADVICE_SET_READ_MOSTLY:
        one.flags |= HMMRT_RANGE_READ_MOSTLY;
        break;
    case HMMRT_ADVICE_UNSET_READ_MOSTLY:
        one.flags &= ~HMMRT_RANGE_READ_MOSTLY;
        break;
    case HMMRT_ADVICE_SET_PREFERRED_LOCATION:
        one.preferred = request.location;
        break;
    case HMMRT_ADVICE_UNSET_PREFERRED_LOCATION:
        one.preferred = HMMRT_LOCATION_NONE;
        break;
    case HMMRT_ADVICE_SET_ACCESSED_BY:
        one.accessed_by |= bit_of(request.location);
        break;
    case HMMRT_ADVICE_UNSET_ACCESSED_BY:
        one.accessed_by &= ~bit_of(request.location);
        break;
    case HMMRT_ADVICE_SET_NO_MIGRATE:
        one.flags |= HMMRT_RANGE_NO_MIGRATE;
        break;
    case HMMRT_ADVICE_UNSET_NO_MIGRATE:
        one.flags &= ~HMMRT_RANGE_NO_MIGRATE;
        break;
    case HMMRT_ADVICE_SET_GRANULARITY:
    case HMMRT_ADVICE_UNSET_GRANULARITY:
        one.granularity = request.value;
        break;
    }
}

/// True for the call that should fail.
bool is_due(int error, int& calls_before) {
    return error != 0 && calls_before-- == 0;
}

constexpr std::uint32_t anywhere = HMMRT_SCOPE_DEVICE | HMMRT_SCOPE_SPACE | HMMRT_SCOPE_RANGE;

std::uint64_t key_of(std::uint32_t scope, std::uint32_t device) {
    return scope == HMMRT_SCOPE_DEVICE ? std::uint64_t(device) << 32 | scope : scope;
}

std::uint32_t value_of(const fake_knob& knob, std::uint32_t scope, std::uint32_t device) {
    for (std::uint32_t each = scope; each != 0; each /= 2)
        if (const auto found = knob.set.find(key_of(each, device)); found != knob.set.end())
            return found->second;
    return knob.by_default;
}

int check(const fake_knob& knob, const hmmrt_knob& request) {
    const bool set = request.operation == HMMRT_KNOB_SET;
    if ((knob.scopes & request.scope) == 0 || (!set && request.value != 0)) return -EINVAL;
    if (set && (request.value < knob.min || request.value > knob.max)) return -EINVAL;
    if (request.scope != HMMRT_SCOPE_RANGE)
        return request.addr != 0 || request.len != 0 ? -EINVAL : 0;
    if (request.len == 0 || request.addr % 4096 != 0 || request.len % 4096 != 0) return -EINVAL;
    return fake_memory::is_mapped(request.addr, request.len) ? 0 : -EFAULT;
}

} // namespace

// ---- memory

bool fake_memory::is_mapped(std::uint64_t addr, std::uint64_t len) {
    return addr + len <= hole || addr >= hole_end;
}

void fake_memory::clear() {
    const std::lock_guard lock(lock_);
    interrupt_after = 0;
    lock_error = populate_error = prefetch_error = 0;
    peers_possible = true;
    while_prefetching = while_locking = nullptr;
    stays.clear();
    prefetches.clear();
    discards.clear();
    order.clear();
    locked.clear();
    lock_questions = 0;
    pages_.clear();
    peers_.clear();
}

int fake_memory::ioctl(unsigned long request, void* argument) {
    if (request == HMMRT_IOC_PREFETCH && while_prefetching) while_prefetching();
    const std::lock_guard lock(lock_);
    switch (request) {
    case HMMRT_IOC_PREFETCH:
        return prefetch(*static_cast<hmmrt_prefetch*>(argument));
    case HMMRT_IOC_RESIDENCY:
        return residency(*static_cast<hmmrt_residency*>(argument));
    case HMMRT_IOC_ADVISE:
        return advise(*static_cast<hmmrt_advise*>(argument));
    case HMMRT_IOC_RANGE_ATTRIBUTES:
        return range_attributes(*static_cast<hmmrt_range_attributes*>(argument));
    case HMMRT_IOC_PAGES:
        return pages(*static_cast<hmmrt_pages*>(argument));
    case HMMRT_IOC_PEER:
        return peer(*static_cast<hmmrt_peer*>(argument));
    default:
        return -ENOTTY;
    }
}

/// Returns the outcome of the page.
std::uint8_t fake_memory::move(std::uint64_t addr, std::uint32_t location) {
    fake_page& one = pages_[addr];
    one.last_prefetch = location;
    if (const auto stay = stays.find(addr); stay != stays.end())
        return static_cast<std::uint8_t>(HMMRT_OUTCOME_STAYED(stay->second));
    const std::uint32_t to = location < HMMRT_MAX_DEVICES ? location : HMMRT_LOCATION_HOST;
    if (one.location == to) return HMMRT_OUTCOME_THERE;
    one.location = to;
    return HMMRT_OUTCOME_MOVED;
}

int fake_memory::prefetch(hmmrt_prefetch& request) {
    if (const int error = check(request.addr, request.len); error != 0) return error;
    if (prefetch_error != 0) return prefetch_error;
    order += 'p';
    prefetches.push_back({request.addr, request.len, request.location});
    auto* outcomes = reinterpret_cast<std::uint8_t*>(request.outcomes);
    request.out_pages_moved = request.out_pages_there = 0;
    for (auto& count : request.out_stayed)
        count = 0;
    for (std::uint64_t i = 0; i < request.len / page; i++) {
        if (interrupt_after != 0 && i == interrupt_after) return -EINTR;
        const std::uint8_t outcome = move(request.addr + i * page, request.location);
        if (outcomes != nullptr) outcomes[i] = outcome;
        if (outcome == HMMRT_OUTCOME_MOVED)
            request.out_pages_moved++;
        else if (outcome == HMMRT_OUTCOME_THERE)
            request.out_pages_there++;
        else
            request.out_stayed[outcome - 2]++;
    }
    return 0;
}

int fake_memory::residency(hmmrt_residency& request) {
    if (const int error = check(request.addr, request.len); error != 0) return error;
    auto* locations = reinterpret_cast<std::uint32_t*>(request.locations);
    for (std::uint64_t i = 0; i < request.len / page; i++)
        locations[i] = pages_[request.addr + i * page].location;
    return 0;
}

int fake_memory::advise(const hmmrt_advise& request) {
    if (const int error = check(request.addr, request.len); error != 0) return error;
    for (std::uint64_t at = request.addr; at < request.addr + request.len; at += page)
        advise_page(pages_[at], request);
    return 0;
}

int fake_memory::range_attributes(hmmrt_range_attributes& request) {
    if (const int error = check(request.addr, request.len); error != 0) return error;
    const fake_page& first = pages_[request.addr];
    request.out_flags = first.flags;
    request.out_accessed_by = first.accessed_by;
    request.out_preferred_location = first.preferred;
    request.out_last_prefetch = first.last_prefetch;
    request.out_granularity = first.granularity;
    for (std::uint64_t at = request.addr; at < request.addr + request.len; at += page) {
        const fake_page& one = pages_[at];
        request.out_flags &= one.flags;
        request.out_accessed_by &= one.accessed_by;
        if (one.preferred != first.preferred) request.out_preferred_location = HMMRT_LOCATION_NONE;
        if (one.last_prefetch != first.last_prefetch)
            request.out_last_prefetch = HMMRT_LOCATION_NONE;
        if (one.granularity != first.granularity) request.out_granularity = 0;
    }
    return 0;
}

int fake_memory::pages(hmmrt_pages& request) {
    if (request.page_bytes != sizeof(hmmrt_page)) return -EINVAL;
    if (const int error = check(request.addr, request.len); error != 0) return error;
    auto* out = reinterpret_cast<hmmrt_page*>(request.pages);
    for (std::uint64_t i = 0; i < request.len / page; i++) {
        const fake_page& one = pages_[request.addr + i * page];
        out[i] = {};
        out[i].location = one.location;
        out[i].flags = HMMRT_PAGE_DIRTY;
        out[i].mapped_by = bit_of(one.location);
        out[i].cause = HMMRT_CAUSE_PREFETCH;
        out[i].time = i;
    }
    return 0;
}

int fake_memory::peer(hmmrt_peer& request) {
    const std::pair pair(request.device_id, request.peer_id);
    request.out_possible = peers_possible;
    if (request.operation == HMMRT_PEER_ENABLE) {
        if (!peers_possible) return -EOPNOTSUPP;
        peers_.insert(pair);
    }
    if (request.operation == HMMRT_PEER_DISABLE) peers_.erase(pair);
    request.out_enabled = peers_.count(pair) != 0;
    return 0;
}

int fake_memory::discard(std::uint64_t addr, std::uint64_t len) {
    const std::lock_guard lock(lock_);
    order += 'd';
    discards.push_back({addr, len});
    if (!is_mapped(addr, len)) return -ENOMEM;
    const auto first = locked.lower_bound(addr);
    return first != locked.end() && *first < addr + len ? -EINVAL : 0;
}

int fake_memory::lock(std::uint64_t addr, std::uint64_t len) {
    if (const int error = lock_on_fault(addr, len); error != 0) return error;
    if (while_locking) while_locking();
    return -populate_error;
}

/// Locks half of the pages before an error.
int fake_memory::lock_on_fault(std::uint64_t addr, std::uint64_t len) {
    const std::lock_guard lock(lock_);
    const std::uint64_t end = lock_error != 0 ? addr + len / 2 : addr + len;
    for (std::uint64_t at = addr; at < end; at += page)
        locked.insert(at);
    return -lock_error;
}

bool fake_memory::has_locked(std::uint64_t addr, std::uint64_t len) {
    const std::lock_guard lock(lock_);
    lock_questions++;
    const auto first = locked.lower_bound(addr);
    return first != locked.end() && *first < addr + len;
}

/// Mappings are split at the hole, and where locked pages begin or end.
std::string fake_memory::maps() {
    const std::lock_guard lock(lock_);
    std::set<std::uint64_t> ends = {0x10000, hole, hole_end, 0x7ffffffff000};
    for (const std::uint64_t addr : locked) {
        if (locked.count(addr - page) == 0) ends.insert(addr);
        if (locked.count(addr + page) == 0) ends.insert(addr + page);
    }
    std::string text;
    for (auto at = ends.begin(); std::next(at) != ends.end(); ++at) {
        char line[100];
        std::snprintf(line, sizeof(line), "%lx-%lx rw-p 00000000 00:00 0\n", *at, *std::next(at));
        if (*at != hole) text += line;
    }
    return text;
}

int fake_memory::unlock(std::uint64_t addr, std::uint64_t len) {
    const std::lock_guard lock(lock_);
    locked.erase(locked.lower_bound(addr), locked.lower_bound(addr + len));
    return 0;
}

// ---- memory objects

fake_objects::object::object(std::size_t size)
    : file(::memfd_create("fake", MFD_CLOEXEC)), bytes(size) {
    if (::ftruncate(file, static_cast<off_t>(size)) < 0) bytes = 0;
}

fake_objects::object::~object() {
    ::close(file);
}

void fake_objects::clear() {
    const std::lock_guard lock(lock_);
    create_error = duplicate_error = map_error = protect_error = access_error = 0;
    protects_before_error = accesses_before_error = 0;
    creations.clear();
    accesses.clear();
}

std::shared_ptr<fake_objects::object> fake_objects::find(int fd) {
    const std::lock_guard lock(lock_);
    const auto found = files_.find(fd);
    return found == files_.end() ? nullptr : found->second;
}

bool fake_objects::has(int fd) {
    return find(fd) != nullptr;
}

std::size_t fake_objects::open() {
    const std::lock_guard lock(lock_);
    return files_.size();
}

void fake_objects::close(int fd) {
    const std::lock_guard lock(lock_);
    files_.erase(fd);
}

int fake_objects::create(hmmrt_object_create& request, int fresh_fd) {
    const std::lock_guard lock(lock_);
    if (create_error != 0) return -create_error;
    creations.push_back(request);
    auto fresh = std::make_shared<object>(request.bytes);
    fresh->id = next_id_++;
    fresh->location = request.location;
    fresh->flags = request.flags;
    files_[fresh_fd] = std::move(fresh);
    request.out_fd = fresh_fd;
    return 0;
}

int fake_objects::info(int fd, hmmrt_object_info& request) {
    const auto found = find(fd);
    if (!found) return -ENOTTY;
    request.out_bytes = found->bytes;
    request.out_id = found->id;
    request.out_location = found->location;
    request.out_flags = found->flags;
    return 0;
}

int fake_objects::access(const hmmrt_access& request) {
    const std::lock_guard lock(lock_);
    if (is_due(access_error, accesses_before_error)) return -access_error;
    accesses.push_back(request);
    return 0;
}

int fake_objects::create_shared_memory(const char* name, std::size_t bytes, int fresh_fd) {
    const std::lock_guard lock(lock_);
    auto fresh = std::make_shared<object>(bytes);
    fresh->name = name;
    files_[fresh_fd] = std::move(fresh);
    return fresh_fd;
}

int fake_objects::describe_shared_memory(int fd, std::string& name, std::size_t& bytes) {
    const auto found = find(fd);
    if (!found || found->name.empty()) return -EINVAL;
    name = found->name;
    bytes = found->bytes;
    return 0;
}

int fake_objects::duplicate(int fd, int fresh_fd) {
    const auto found = find(fd);
    if (duplicate_error != 0) return -duplicate_error;
    if (!found) return -EBADF;
    const std::lock_guard lock(lock_);
    files_[fresh_fd] = found;
    return fresh_fd;
}

std::int64_t fake_objects::map(std::uint64_t address, std::size_t bytes, int protection, int flags,
                               int fd, std::uint64_t offset) {
    const auto found = find(fd);
    if (map_error != 0) return -map_error;
    void* const got = ::mmap(reinterpret_cast<void*>(address), bytes, protection, flags,
                             found->file, static_cast<off_t>(offset));
    return got == MAP_FAILED ? -errno : static_cast<std::int64_t>(reinterpret_cast<intptr_t>(got));
}

int fake_objects::protect(std::uint64_t address, std::size_t bytes, int protection) {
    {
        const std::lock_guard lock(lock_);
        if (is_due(protect_error, protects_before_error)) return -protect_error;
    }
    return ::mprotect(reinterpret_cast<void*>(address), bytes, protection) < 0 ? -errno : 0;
}

// ---- knobs, quotas, statistics and annotations

void fake_policy::clear() {
    const std::lock_guard lock(lock_);
    knob_change_error = quota_error = stats_error = 0;
    knobs = {{"migration_policy", 0, 2, 0, anywhere, {}},
             {"prefetch_threshold", 1, 100, 51, anywhere, {}},
             {"oversubscription", 0, 2, 2, HMMRT_SCOPE_DEVICE, {}}};
    knob_changes.clear();
    quotas.clear();
    queries.clear();
    annotations.clear();
    annotation_error = 0;
    held_ = {};
    held_.out_limit_bytes = HMMRT_QUOTA_NO_LIMIT;
    held_.out_priority = HMMRT_PRIORITY_DEFAULT;
}

int fake_policy::knob(hmmrt_knob& request) {
    const std::lock_guard lock(lock_);
    if (request.knob >= knobs.size()) return -EINVAL;
    fake_knob& one = knobs[request.knob];
    if (const int error = check(one, request); error != 0) return error;
    if (request.operation != HMMRT_KNOB_GET) {
        if (knob_change_error != 0) return -knob_change_error;
        knob_changes.push_back(request);
        one.set.erase(key_of(request.scope, request.device_id));
    }
    if (request.operation == HMMRT_KNOB_SET)
        one.set[key_of(request.scope, request.device_id)] = request.value;
    request.out_value = value_of(one, request.scope, request.device_id);
    request.out_min = one.min;
    request.out_max = one.max;
    request.out_default = one.by_default;
    request.out_scopes = one.scopes;
    std::strncpy(reinterpret_cast<char*>(request.out_name), one.name.c_str(),
                 HMMRT_KNOB_NAME_LEN - 1);
    return 0;
}

int fake_policy::stats(hmmrt_stats& request) {
    const std::lock_guard lock(lock_);
    queries.push_back(request);
    if (stats_error != 0) return -stats_error;
    std::uint64_t value = 0;
    for (auto* each = &request.out_device_faults; each <= &request.out_blocks; each++)
        *each = ++value;
    return 0;
}

int fake_policy::annotate(const hmmrt_annotate& request) {
    const std::lock_guard lock(lock_);
    if (annotation_error != 0) return -annotation_error;
    annotations.push_back(request);
    return 0;
}

int fake_policy::quota(hmmrt_quota& request) {
    const std::lock_guard lock(lock_);
    quotas.push_back(request);
    if (quota_error != 0) return -quota_error;
    if (request.scope == HMMRT_QUOTA_OF_SPACE && request.cgroup_fd != 0) return -EINVAL;
    if (request.operation == HMMRT_QUOTA_SET) {
        held_.out_limit_bytes = request.limit_bytes;
        held_.out_priority = request.priority;
    } else if (request.limit_bytes != 0 || request.priority != 0) {
        return -EINVAL;
    }
    request.out_limit_bytes = held_.out_limit_bytes;
    request.out_priority = held_.out_priority;
    request.out_used_bytes = 1 << 20;
    request.out_evicted_bytes = 2 << 20;
    request.out_refused = 3;
    return 0;
}

} // namespace fakes
