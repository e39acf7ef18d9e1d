// SPDX-License-Identifier: MIT
#include "fakes/fake_memory.hpp"

#include <cerrno>
#include <cstdio>

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

} // namespace

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

} // namespace fakes
