// SPDX-License-Identifier: MIT
#include "memory/memory_pool.hpp"

#include "base/failure.hpp"
#include "session/device.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace hmmrt {
namespace {

/// True if work up to the point is done with its memory. An agent that has
/// ended doesn't use memory either.
bool is_over(const event_point& point) {
    return point.running->queue(point.queue).reached(point.position) || point.running->ended() ||
           point.running->lost();
}

/// True if work queued in the stream from now on runs after the point.
bool is_before(const event_point& point, device& where, const stream* in) {
    if (in == nullptr) return point.queue == legacy_queue && where.is_current(*point.running);
    return point.queue == in->queue() && point.running == in->running();
}

template <class Value>
void store(void* to, Value value) {
    std::memcpy(to, &value, sizeof(value));
}

template <class Value>
Value load(const void* from) {
    Value value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

[[noreturn]] void throw_unknown_attribute() {
    throw failure(hmmErrorInvalidValue, "unknown attribute");
}

[[noreturn]] void throw_no_pool() {
    throw failure(hmmErrorInvalidResourceHandle, "no such pool");
}

} // namespace

kept_list returned_memory(const allocation& gone) {
    kept_list one(own_pool());
    one.push_back({gone.begin, gone.bytes, nullptr});
    return one;
}

memory_pool::~memory_pool() {
    for (const kept_memory& each : kept_)
        memory_.end({each.begin, each.bytes});
}

/// Finds the smallest mapping that fits and is less than twice the size.
kept_list::iterator memory_pool::find_fitting(std::size_t whole, device& where, const stream* in) {
    auto best = kept_.end();
    for (auto at = kept_.begin(); at != kept_.end(); ++at) {
        if (at->bytes < whole || at->bytes / 2 >= whole) continue;
        if (best != kept_.end() && best->bytes <= at->bytes) continue;
        if (!at->after || is_before(*at->after, where, in) ||
            (opportunistic_ && is_over(*at->after)))
            best = at;
        if (best == at && at->bytes == whole) break;
    }
    return best;
}

/// Returns a list with one mapping, which may be larger than requested. Work
/// queued before may still use it until `after`, which is NULL if the mapping
/// is new or unused.
kept_list memory_pool::take(std::size_t bytes, device& where, const stream* in) {
    const std::size_t whole = managed_memory::rounded(bytes, memory_kind::device);
    kept_list taken(own_pool());
    if (const auto found = find_fitting(whole, where, in); found != kept_.end()) {
        taken.splice(taken.end(), kept_, found);
        try {
            // advice may be gone after a reset
            memory_.place({taken.front().begin, taken.front().bytes}, device_);
        } catch (...) {
            put_back(std::move(taken));
            throw;
        }
        return taken;
    }
    if (limit_ < whole)
        throw failure(hmmErrorMemoryAllocation, "the size exceeds the pool's limit");
    release_unused(std::max(limit_ - whole, std::size_t{threshold_}));
    if (reserved_ > limit_ - whole) release_unused(limit_ - whole);
    if (reserved_ > limit_ - whole)
        throw failure(hmmErrorMemoryAllocation, "the pool has reached its limit");
    taken.push_back({0, 0, nullptr});
    const memory_place fresh = memory_.map(bytes, memory_kind::device, device_, false);
    taken.front().begin = fresh.begin;
    taken.front().bytes = fresh.bytes;
    reserved_ += fresh.bytes;
    reserved_high_ = std::max(reserved_high_, reserved_);
    return taken;
}

/// Undoes take() if the mapping wasn't allocated after all.
void memory_pool::put_back(kept_list&& taken) noexcept {
    kept_.splice(kept_.end(), taken);
    release_unused(std::max(used_, std::size_t{threshold_}));
}

allocation memory_pool::allocate(std::size_t bytes, device& where, const stream* in) {
    device_.start();
    const std::lock_guard lock(lock_);
    if (destroyed_) throw_no_pool(); // meanwhile, by another thread
    allocation given;
    given.kind = memory_kind::device;
    given.device = device_.number();
    given.pool = shared_from_this();
    kept_list taken = take(bytes, where, in);
    given.begin = taken.front().begin;
    given.bytes = taken.front().bytes;
    try {
        memory_.add(given);
    } catch (...) {
        put_back(std::move(taken));
        throw;
    }
    used_ += given.bytes;
    used_high_ = std::max(used_high_, used_);
    return given;
}

void memory_pool::give_back(kept_list&& gone, std::shared_ptr<event_point> after) noexcept {
    const std::lock_guard lock(lock_);
    used_ -= gone.front().bytes;
    gone.front().after = std::move(after);
    kept_.splice(kept_.end(), gone);
}

void memory_pool::take_over(std::size_t bytes) noexcept {
    const std::lock_guard lock(lock_);
    used_ += bytes;
    reserved_ += bytes;
    reserved_high_ = std::max(reserved_high_, reserved_);
}

void memory_pool::release_unused(std::size_t keep) {
    for (auto at = kept_.begin(); at != kept_.end() && reserved_ > keep;) {
        if (at->after && !is_over(*at->after)) {
            ++at;
            continue;
        }
        if (!memory_.unmap({at->begin, at->bytes})) {
            ++at;
            continue;
        }
        reserved_ -= at->bytes;
        at = kept_.erase(at);
    }
}

void memory_pool::trim(std::size_t keep) {
    const std::lock_guard lock(lock_);
    release_unused(keep);
}

bool memory_pool::settle() {
    const std::lock_guard lock(lock_);
    for (kept_memory& each : kept_)
        if (each.after && is_over(*each.after)) each.after = nullptr;
    release_unused(threshold_);
    return !destroyed_ || reserved_ > 0;
}

void memory_pool::destroy() {
    const std::lock_guard lock(lock_);
    destroyed_ = true;
    threshold_ = 0;
    release_unused(0);
}

void memory_pool::get(hmmMemPoolAttr attribute, void* value) const {
    const std::lock_guard lock(lock_);
    switch (attribute) {
    case hmmMemPoolReuseFollowEventDependencies:
    case hmmMemPoolReuseAllowInternalDependencies:
        return store(value, 0);
    case hmmMemPoolReuseAllowOpportunistic:
        return store(value, static_cast<int>(opportunistic_));
    case hmmMemPoolAttrReleaseThreshold:
        return store(value, threshold_);
    case hmmMemPoolAttrReservedMemCurrent:
        return store(value, std::uint64_t{reserved_});
    case hmmMemPoolAttrReservedMemHigh:
        return store(value, std::uint64_t{reserved_high_});
    case hmmMemPoolAttrUsedMemCurrent:
        return store(value, std::uint64_t{used_});
    case hmmMemPoolAttrUsedMemHigh:
        return store(value, std::uint64_t{used_high_});
    }
    throw_unknown_attribute();
}

void memory_pool::set(hmmMemPoolAttr attribute, const void* value) {
    const auto need_zero = [](bool zero, const char* what) {
        if (!zero) throw failure(hmmErrorInvalidValue, what);
    };
    const std::lock_guard lock(lock_);
    switch (attribute) {
    case hmmMemPoolReuseFollowEventDependencies:
    case hmmMemPoolReuseAllowInternalDependencies:
        if (load<int>(value) != 0)
            throw failure(hmmErrorNotSupported, "this kind of reuse is not supported");
        return;
    case hmmMemPoolReuseAllowOpportunistic:
        opportunistic_ = load<int>(value) != 0;
        return;
    case hmmMemPoolAttrReleaseThreshold:
        threshold_ = load<std::uint64_t>(value);
        return;
    case hmmMemPoolAttrReservedMemHigh:
        need_zero(load<std::uint64_t>(value) == 0, "a high watermark can only be reset to 0");
        reserved_high_ = reserved_;
        return;
    case hmmMemPoolAttrUsedMemHigh:
        need_zero(load<std::uint64_t>(value) == 0, "a high watermark can only be reset to 0");
        used_high_ = used_;
        return;
    case hmmMemPoolAttrReservedMemCurrent:
    case hmmMemPoolAttrUsedMemCurrent:
        need_zero(false, "the attribute cannot be set");
    }
    throw_unknown_attribute();
}

std::uint64_t pool_table::add_locked(device& target, std::size_t limit) {
    all_.push_back(make_own_shared<memory_pool>(memory_, target, limit));
    try {
        return handles_.add(all_.back());
    } catch (...) {
        all_.pop_back();
        throw;
    }
}

std::uint64_t pool_table::create(device& target, std::size_t limit) {
    const std::lock_guard lock(lock_);
    return add_locked(target, limit);
}

void pool_table::destroy(std::uint64_t handle) {
    const std::lock_guard lock(lock_);
    if (std::find(default_.begin(), default_.end(), handle) != default_.end() && handle != 0)
        throw failure(hmmErrorInvalidValue, "the default pool of a device cannot be destroyed");
    const auto gone = handles_.remove(handle);
    if (!gone) throw_no_pool();
    std::replace(current_.begin(), current_.end(), handle, std::uint64_t{0});
    gone->destroy();
}

std::shared_ptr<memory_pool> pool_table::find(std::uint64_t handle) const {
    auto found = handles_.find(handle);
    if (!found) throw_no_pool();
    return found;
}

std::uint64_t pool_table::default_locked(device& target) {
    std::uint64_t& handle = default_[static_cast<std::size_t>(target.number())];
    if (handle == 0) handle = add_locked(target, SIZE_MAX);
    return handle;
}

std::uint64_t pool_table::default_of(device& target) {
    const std::lock_guard lock(lock_);
    return default_locked(target);
}

std::uint64_t pool_table::current_of(device& target) {
    const std::lock_guard lock(lock_);
    const std::uint64_t handle = current_[static_cast<std::size_t>(target.number())];
    return handle != 0 ? handle : default_locked(target);
}

void pool_table::set_current(device& target, std::uint64_t handle) {
    const std::lock_guard lock(lock_);
    const auto pool = handles_.find(handle);
    if (!pool) throw_no_pool();
    if (&pool->get_device() != &target)
        throw failure(hmmErrorInvalidValue, "the pool belongs to another device");
    current_[static_cast<std::size_t>(target.number())] = handle;
}

void pool_table::settle() {
    const std::lock_guard lock(lock_);
    for (auto at = all_.begin(); at != all_.end();)
        at = (*at)->settle() ? std::next(at) : all_.erase(at);
}

} // namespace hmmrt
