// SPDX-License-Identifier: MIT
#include "session.hpp"

#include "agent/ring.h"
#include "kernel_exception.hpp"
#include "message.hpp"
#include "sanitizer.hpp"
#include "settings.hpp"
#include "tsan_order.hpp"

#include <immintrin.h>
#include <initializer_list>
#include <thread>
#include <utility>

namespace hmmrt {
namespace {

constexpr int slice_milliseconds = 100;
constexpr unsigned told_wait_seconds = 10;
constexpr int record_limit_milliseconds = 5000;

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
    : executor_(std::move(lanes)),
      ctl_(&executor_->shared()),
      device_(options.device),
      quiet_(options.quiet),
      first_ticks_(__builtin_ia32_rdtsc()),
      first_milliseconds_(sys::monotonic_milliseconds()) {
    watch_.emplace(*this, *ctl_, options);
    try {
        watch_->start();
    } catch (...) {
        stop();
        throw;
    }
}

session::~session() {
    stop();
    reap_rest();
}

/// Returns the positions that an entry must wait for: the one in the request,
/// and those that follow from the rules for streams. The legacy stream waits
/// for all blocking streams, and these wait for it. Omits positions already
/// reached.
entry_after session::dependencies(std::uint32_t queue, const event_point* after) const {
    entry_after result;
    const auto add = [&](std::uint32_t other, std::uint64_t position) {
        if (other != queue && !reached(other, position)) result.add(other, position);
    };
    // After a reset, @after may belong to an older session, whose positions are
    // all complete.
    if (after != nullptr && after->running.get() == this) add(after->queue, after->position);
    if (queue == legacy_queue) {
        std::uint32_t others = used_.load() & blocking_queues;
        for (; others != 0; others &= others - 1) {
            const auto other = static_cast<std::uint32_t>(__builtin_ctz(others));
            add(other, submitted(other));
        }
    } else if ((1u << queue & blocking_queues) != 0) {
        add(legacy_queue, submitted(legacy_queue));
    }
    return result;
}

/// True if the ring has a free entry and the aftermath of the entry's previous
/// use is done.
bool session::has_free_entry(std::uint32_t queue) {
    queue_state& state = queues_[queue];
    const std::uint64_t position = state.submitted.load();
    if (position >= ring_entries && !reached(queue, position + 1 - ring_entries)) return false;
    const std::lock_guard lock(state.aftermath_lock);
    return state.aftermath_begin == state.aftermath_end ||
           state.aftermaths[state.aftermath_begin % ring_entries].position + ring_entries >
               position + 1;
}

/// Waits for space in the queue and takes the queue's lock. Returns false if
/// the session ended.
bool session::await_free_entry(std::uint32_t queue, std::unique_lock<std::mutex>& lock) {
    queue_state& state = queues_[queue];
    for (;;) {
        reap(queue); // not under the lock, because it calls the program
        lock.lock();
        if (ended_.load()) return false;
        if (has_free_entry(queue)) return true;
        const std::uint64_t position = state.submitted.load();
        lock.unlock();
        if (position >= ring_entries && !wait(queue, position + 1 - ring_entries)) return false;
    }
}

/// Fills in the work of an entry; returns the number of pieces.
std::uint32_t session::fill_work(ring_entry& entry, const work_request& request) const {
    switch (request.kind) {
    case entry_kind::range:
    case entry_kind::serial: {
        const partition cut = cut_launch(request.items, lanes());
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

void session::fill_entry(ring_entry& entry, const work_request& request, const entry_after& after) {
    entry.kind.store(request.kind, std::memory_order_relaxed);
    entry.pieces.store(fill_work(entry, request), std::memory_order_relaxed);
    entry.after_mask.store(after.mask, std::memory_order_relaxed);
    for (std::uint32_t mask = after.mask; mask != 0; mask &= mask - 1) {
        const auto other = static_cast<std::uint32_t>(__builtin_ctz(mask));
        entry.after[other].store(static_cast<std::uint32_t>(after.position[other]),
                                 std::memory_order_relaxed);
    }
}

/// Records an entry for reap(). The caller has made sure that there is space.
void session::remember(queue_state& state, const work_request& request, std::uint64_t position) {
    const bool stamp = request.kind == entry_kind::stamp;
    if (request.destroy == nullptr && !stamp) return;
    const std::lock_guard lock(state.aftermath_lock);
    state.aftermaths[state.aftermath_end++ % ring_entries] = {
        position, request.closure, request.destroy, stamp ? request.records : nullptr};
}

std::uint64_t session::submit(std::uint32_t queue, const work_request& request) {
    queue_state& state = queues_[queue];
    std::unique_lock lock(state.lock, std::defer_lock);
    if (!await_free_entry(queue, lock)) return 0;

    const entry_after after = dependencies(queue, request.after);
    const std::uint64_t position = state.submitted.load() + 1;
    if (state.aftermaths.empty()) state.aftermaths.resize(ring_entries);
    if (request.gate != nullptr) add_gate(queue, {position, after, *request.gate});
    ring_entry& entry = entry_at(shared(queue), static_cast<std::uint32_t>(position - 1));
    fill_entry(entry, request, after);
    if (request.records) {
        request.records->running = shared_from_this();
        request.records->queue = queue;
        request.records->position = position;
    }
    remember(state, request, position);
    if (request.kind == entry_kind::range || request.kind == entry_kind::serial)
        launches_.fetch_add(1, std::memory_order_relaxed);
    state.submitted.store(position);
    if ((used_.load() & 1u << queue) == 0) used_.fetch_or(1u << queue);
    tsan_order::publish(entry);
    ring_publish(*ctl_, shared(queue));
    return position;
}

std::uint64_t session::submitted(std::uint32_t queue) const {
    return queues_[queue].submitted.load();
}

bool session::reached(std::uint32_t queue, std::uint64_t position) const {
    // Read `completed` first: only entries that were submitted before can
    // complete.
    const std::uint32_t completed = shared(queue).completed.load();
    const std::uint64_t submitted = queues_[queue].submitted.load();
    const bool there = submitted - (static_cast<std::uint32_t>(submitted) - completed) >= position;
    if (there) tsan_order::reach(shared(queue), static_cast<std::uint32_t>(position));
    return there;
}

bool session::wait(std::uint32_t queue, std::uint64_t position) {
    return wait(queue, position, nullptr, true);
}

bool session::wait_quietly(std::uint32_t queue, std::uint64_t position, const session* waiting) {
    return wait(queue, position, waiting, false);
}

bool session::wait(std::uint32_t queue, std::uint64_t position, const session* waiting, bool tell) {
    if (reached(queue, position)) return true;
    work_queue& words = shared(queue);
    const auto target = static_cast<std::uint32_t>(position);
    {
        const std::lock_guard lock(queues_[queue].waiters_lock);
        const auto earlier = static_cast<std::int32_t>(target - words.wake_at.load()) < 0;
        if (words.waiters.load() == 0 || earlier) words.wake_at.store(target);
        words.waiters.fetch_add(1);
    }
    bool there;
    const std::uint64_t tell_at =
        sys::monotonic_milliseconds() + std::uint64_t{told_wait_seconds} * 1000;
    for (;;) {
        const std::uint32_t now = words.completed.load();
        there = reached(queue, position);
        if (there || ended_.load() || (waiting != nullptr && waiting->over())) break;
        if (sys::wait_for_change(words.completed, now, slice_milliseconds)) continue;
        if (lost()) break;
        if (tell && sys::monotonic_milliseconds() >= tell_at) {
            watch_->tell_wait(told_wait_seconds);
            tell = false;
        }
    }
    const std::lock_guard lock(queues_[queue].waiters_lock);
    words.waiters.fetch_sub(1);
    return there;
}

bool session::wait_all(std::uint32_t queues) {
    bool there = true;
    for (queues &= used_.load(); queues != 0; queues &= queues - 1) {
        const auto queue = static_cast<std::uint32_t>(__builtin_ctz(queues));
        there = wait(queue, submitted(queue)) && there;
    }
    return there;
}

bool session::reached_all(std::uint32_t queues) const {
    for (queues &= used_.load(); queues != 0; queues &= queues - 1) {
        const auto queue = static_cast<std::uint32_t>(__builtin_ctz(queues));
        if (!reached(queue, submitted(queue))) return false;
    }
    return true;
}

void session::reap(std::uint32_t queue) {
    reap(queue, false);
}

void session::reap_all(std::uint32_t queues) {
    for (queues &= used_.load(); queues != 0; queues &= queues - 1)
        reap(static_cast<std::uint32_t>(__builtin_ctz(queues)));
}

void session::reap(std::uint32_t queue, bool all) {
    queue_state& state = queues_[queue];
    for (;;) {
        aftermath first;
        {
            const std::lock_guard lock(state.aftermath_lock);
            if (state.aftermath_begin == state.aftermath_end) return;
            aftermath& oldest = state.aftermaths[state.aftermath_begin % ring_entries];
            if (!all && !reached(queue, oldest.position)) return;
            if (oldest.stamp) {
                const auto number = static_cast<std::uint32_t>(oldest.position - 1);
                oldest.stamp->nanoseconds.store(entry_at(shared(queue), number).stamp);
            }
            first = std::move(oldest);
            state.aftermath_begin++;
        }
        if (first.destroy != nullptr) first.destroy(first.closure);
    }
}

/// Chooses the queue with the fewest streams, and prefers idle ones among
/// these.
std::uint32_t session::take_queue(bool blocking, bool high_priority) {
    const queue_group low = blocking ? blocking_low : apart_low;
    const queue_group group = high_priority ? (blocking ? blocking_high : apart_high) : low;
    const std::lock_guard lock(users_lock_);
    std::uint32_t best = group.first;
    const auto cost = [&](std::uint32_t queue) {
        return 2 * users_[queue] + (reached(queue, submitted(queue)) ? 0 : 1);
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

bool session::lost() {
    if (ended_.load() || !executor_->lost()) return ended_.load();
    lost_.store(!stopping_.load());
    ended_.store(true);
    if (lost_.load() && watch_ &&
        ctl_->sticky.load() == static_cast<std::uint32_t>(sticky_state::none))
        watch_->await_report(nullptr);
    return true;
}

void session::await_record() {
    const std::uint64_t deadline = sys::monotonic_milliseconds() + record_limit_milliseconds;
    bool killed = false;
    while (ctl_->sticky.load() < static_cast<std::uint32_t>(sticky_state::ending) && !lost()) {
        if (!killed && sys::monotonic_milliseconds() >= deadline) {
            executor_->kill();
            killed = true;
        }
        std::this_thread::yield();
    }
}

/// We can't ignore an unfinished record: lanes drop work as soon as one of them
/// starts to record its fault.
const fault_block* session::fault() {
    if (!has_fault_.load()) {
        if (ctl_->sticky.load() == static_cast<std::uint32_t>(sticky_state::none)) return nullptr;
        await_record();
        keep_fault();
    }
    watch_->await_report(&fault_, exception_text_);
    return &fault_;
}

/// Copies the record, because device code can write to the control block as
/// long as the agent lives. If the agent ended before it finished the record,
/// the cause stays unknown, but we still report a fault because lanes have
/// dropped work.
void session::keep_fault() {
    const std::lock_guard lock(fault_lock_);
    const bool recorded = ctl_->sticky.load() >= static_cast<std::uint32_t>(sticky_state::walking);
    if (has_fault_.load()) return;
    if (recorded) fault_ = ctl_->fault;
    end_for_sanitizer();
    if (fault_.cause == fault_cause::exception && fault_.lane < max_lanes)
        exception_ = take_kernel_exception(ctl_->lanes[fault_.lane].fs_base, exception_text_);
    has_fault_.store(true);
}

/// Ends the program if a sanitizer tried to end it.
void session::end_for_sanitizer() const {
    const int status = status_of_sanitizer(fault_);
    if (status == 0) return;
    message text;
    text.add("hmmrt: device %d, lane %u, items %llu to %llu: a sanitizer found an error; the "
             "program exits with status %d\n",
             device_, fault_.lane, static_cast<unsigned long long>(fault_.first_item),
             static_cast<unsigned long long>(fault_.first_item + fault_.item_count - 1), status);
    if (!quiet_) sys::write_error(text.text(), text.size());
    sys::end_process(status);
}

std::exception_ptr session::exception() {
    return has_fault_.load() ? exception_ : nullptr;
}

std::uint64_t session::take_memory_error() {
    return ctl_->memory_error.exchange(0);
}

void session::set_strict(bool strict) {
    ctl_->strict.store(strict ? 1 : 0);
}

std::uint32_t session::lanes() const {
    return executor_->lanes();
}

void session::stop() {
    const std::lock_guard lock(stop_lock_);
    if (std::exchange(stopped_, true)) return;
    stopping_.store(true);
    executor_->stop();
    ended_.store(true);
    for (std::uint32_t queue = 0; queue < queue_count; queue++) {
        sys::wake(shared(queue).completed);
        const std::lock_guard no_submissions(queues_[queue].lock);
    }
    join_workers();
    if (watch_) watch_->end();
    executor_->release();
}

void session::reap_rest() {
    for (std::uint32_t queue = 0; queue < queue_count; queue++)
        reap(queue, true);
}

} // namespace hmmrt
