// SPDX-License-Identifier: MIT
#include "session/session.hpp"

#include "agent/ring.h"
#include "base/settings.hpp"

#include <immintrin.h>
#include <utility>

namespace hmmrt {
namespace {

std::uint64_t code_address(const void* function) {
    return reinterpret_cast<std::uint64_t>(function) & ((1ull << 48) - 1);
}

std::uint32_t current_mxcsr() {
    return _mm_getcsr();
}

std::uint32_t current_x87_control() {
    std::uint16_t word;
    asm volatile("fnstcw %0" : "=m"(word));
    return word;
}

} // namespace

session::session(std::unique_ptr<executor> lanes, const session_options& options)
    : lanes_(std::move(lanes)),
      quiet_(options.quiet),
      faults_(lanes_, options),
      watch_(lanes_, faults_, options) {
    for (std::uint32_t queue = 0; queue < queue_count; queue++) {
        queues_[queue].attach(lanes_, watch_, queue);
        gates_[queue].attach(*this, queue);
    }
    try {
        watch_.start();
    } catch (...) {
        stop();
        throw;
    }
}

session::~session() {
    stop();
    reap_rest();
}

/// Calls visit(number) for each queue of the set that has had work.
template <class Visit>
void session::visit_used(std::uint32_t queues, Visit visit) const {
    for (queues &= used_.load(); queues != 0; queues &= queues - 1)
        visit(static_cast<std::uint32_t>(__builtin_ctz(queues)));
}

/// Returns the positions that an entry must wait for: the one in the request,
/// and those that follow from the rules for streams. The legacy stream waits
/// for all blocking streams, and these wait for it. Omits positions already
/// reached.
entry_after session::dependencies(std::uint32_t queue, const event_point* after) const {
    entry_after result;
    const auto add = [&](std::uint32_t other, std::uint64_t position) {
        if (other != queue && !queues_[other].reached(position)) result.add(other, position);
    };
    // After a reset, @after may belong to an older session, whose positions are
    // all complete.
    if (after != nullptr && after->running.get() == this) add(after->queue, after->position);
    if (queue == legacy_queue) {
        visit_used(blocking_queues,
                   [&](std::uint32_t other) { add(other, queues_[other].submitted()); });
    } else if ((1u << queue & blocking_queues) != 0) {
        add(legacy_queue, queues_[legacy_queue].submitted());
    }
    return result;
}

/// Fills in the work of an entry; returns the number of pieces.
std::uint32_t session::fill_work(ring_entry& entry, const work_request& request) const {
    switch (request.kind) {
    case entry_kind::range:
    case entry_kind::serial: {
        const partition cut = cut_launch(request.items, lanes_.count());
        entry.range.function = code_address(reinterpret_cast<const void*>(request.function));
        entry.range.named = code_address(request.named != nullptr
                                             ? request.named
                                             : reinterpret_cast<const void*>(request.function));
        entry.range.closure = reinterpret_cast<std::uint64_t>(request.closure);
        entry.range.items = request.items;
        entry.range.piece_items = cut.items;
        entry.range.mxcsr = current_mxcsr() & 0xffff;
        entry.range.x87_control = current_x87_control() & 0xffff;
        return cut.pieces;
    }
    case entry_kind::prefetch:
        entry.prefetch = request.prefetch;
        break;
    case entry_kind::advice:
        entry.advice = request.advice;
        break;
    case entry_kind::discard:
        entry.discard = request.discard;
        break;
    case entry_kind::marker:
    case entry_kind::stamp:
    case entry_kind::gate:
        break;
    }
    return 1;
}

void session::fill_entry(ring_entry& entry, const work_request& request,
                         const entry_after& after) const {
    entry.kind.store(request.kind, std::memory_order_relaxed);
    entry.pieces.store(fill_work(entry, request), std::memory_order_relaxed);
    entry.after_mask.store(after.mask, std::memory_order_relaxed);
    for (std::uint32_t mask = after.mask; mask != 0; mask &= mask - 1) {
        const auto other = static_cast<std::uint32_t>(__builtin_ctz(mask));
        entry.after[other].store(static_cast<std::uint32_t>(after.position[other]),
                                 std::memory_order_relaxed);
    }
}

std::uint64_t session::submit(std::uint32_t queue, const work_request& request) {
    host_queue& to = queues_[queue];
    const std::unique_lock<std::mutex> lock = to.await_free_entry();
    if (!lock) return 0;

    const entry_after after = dependencies(queue, request.after);
    const std::uint64_t position = to.submitted() + 1;
    to.reserve();
    if (request.gate != nullptr) gates_[queue].add({position, after, *request.gate});
    fill_entry(to.entry_of(position), request, after);
    if (request.records) {
        request.records->running = shared_from_this();
        request.records->queue = queue;
        request.records->position = position;
    }
    to.remember(request);
    if (request.kind == entry_kind::range || request.kind == entry_kind::serial)
        launches_.fetch_add(1, std::memory_order_relaxed);
    if ((used_.load() & 1u << queue) == 0) used_.fetch_or(1u << queue);
    to.publish();
    return position;
}

bool session::wait_all(std::uint32_t queues) {
    bool there = true;
    visit_used(queues, [&](std::uint32_t queue) {
        there = queues_[queue].wait(queues_[queue].submitted()) && there;
    });
    return there;
}

bool session::reached_all(std::uint32_t queues) const {
    bool there = true;
    visit_used(queues, [&](std::uint32_t queue) { there = there && queues_[queue].idle(); });
    return there;
}

void session::reap_all(std::uint32_t queues) {
    visit_used(queues, [&](std::uint32_t queue) { queues_[queue].reap(); });
}

void session::reap_rest() {
    for (host_queue& each : queues_)
        each.reap_rest();
}

void session::await_host_functions(std::uint32_t queues) {
    visit_used(queues, [&](std::uint32_t queue) { gates_[queue].await_none(); });
}

/// Chooses the queue with the fewest streams, and prefers idle ones among
/// these.
std::uint32_t session::take_queue(bool blocking, bool high_priority) {
    const queue_group low = blocking ? blocking_low : apart_low;
    const queue_group group = high_priority ? (blocking ? blocking_high : apart_high) : low;
    const std::lock_guard lock(users_lock_);
    std::uint32_t best = group.first;
    const auto cost = [&](std::uint32_t queue) {
        return 2 * users_[queue] + (queues_[queue].idle() ? 0 : 1);
    };
    for (std::uint32_t queue = best + 1; queue < group.first + group.count; queue++)
        if (cost(queue) < cost(best)) best = queue;
    users_[best]++;
    return best;
}

void session::give_queue(std::uint32_t queue) {
    const std::lock_guard lock(users_lock_);
    users_[queue]--;
}

void session::stop() {
    const std::lock_guard lock(stop_lock_);
    if (std::exchange(stopped_, true)) return;
    lanes_.stop();
    for (host_queue& each : queues_)
        each.end();
    for (gate_worker& each : gates_)
        each.join();
    watch_.end();
    lanes_.release();
}

} // namespace hmmrt
