// SPDX-License-Identifier: MIT
#include "session/host_queue.hpp"

#include "agent/ring.h"
#include "base/tsan_order.hpp"
#include "sys/syscalls.hpp"

#include <utility>

namespace hmmrt {
namespace {

constexpr int slice_milliseconds = 100;
constexpr unsigned told_wait_seconds = 10;

} // namespace

void host_queue::attach(session_lanes& lanes, failure_watch& watch, std::uint32_t number) {
    lanes_ = &lanes;
    watch_ = &watch;
    words_ = &lanes.shared().queues[number];
}

// ---- waiting

bool host_queue::reached(std::uint64_t position) const {
    // Read `completed` first: only entries that were submitted before can
    // complete.
    const std::uint32_t completed = words_->completed.load();
    const std::uint64_t submitted = submitted_.load();
    const bool there = submitted - (static_cast<std::uint32_t>(submitted) - completed) >= position;
    if (there) tsan_order::reach(*words_, static_cast<std::uint32_t>(position));
    return there;
}

bool host_queue::wait(std::uint64_t position) {
    return wait(position, nullptr, true);
}

bool host_queue::wait_quietly(std::uint64_t position, const session_lanes* waiting) {
    return wait(position, waiting, false);
}

bool host_queue::wait(std::uint64_t position, const session_lanes* waiting, bool tell) {
    if (reached(position)) return true;
    work_queue& words = *words_;
    const auto target = static_cast<std::uint32_t>(position);
    {
        const std::lock_guard lock(waiters_lock_);
        const auto earlier = static_cast<std::int32_t>(target - words.wake_at.load()) < 0;
        if (words.waiters.load() == 0 || earlier) words.wake_at.store(target);
        words.waiters.fetch_add(1);
    }
    bool there;
    const std::uint64_t tell_at =
        sys::monotonic_milliseconds() + std::uint64_t{told_wait_seconds} * 1000;
    for (;;) {
        const std::uint32_t now = words.completed.load();
        there = reached(position);
        if (there || lanes_->ended() || (waiting != nullptr && waiting->over())) break;
        if (sys::wait_for_change(words.completed, now, slice_milliseconds)) continue;
        if (watch_->lost()) break;
        if (tell && sys::monotonic_milliseconds() >= tell_at) {
            watch_->tell_wait(told_wait_seconds);
            tell = false;
        }
    }
    const std::lock_guard lock(waiters_lock_);
    words.waiters.fetch_sub(1);
    return there;
}

void host_queue::reap(bool all) {
    for (;;) {
        aftermath first;
        {
            const std::lock_guard lock(aftermath_lock_);
            if (aftermath_begin_ == aftermath_end_) return;
            aftermath& oldest = aftermaths_[aftermath_begin_ % ring_entries];
            if (!all && !reached(oldest.position)) return;
            if (oldest.stamp) oldest.stamp->nanoseconds.store(entry_of(oldest.position).stamp);
            first = std::move(oldest);
            aftermath_begin_++;
        }
        if (first.destroy != nullptr) first.destroy(first.closure);
    }
}

// ---- submitting

/// True if the ring has a free entry and the aftermath of the entry's previous
/// use is done.
bool host_queue::has_free_entry() {
    const std::uint64_t position = submitted();
    if (position >= ring_entries && !reached(position + 1 - ring_entries)) return false;
    const std::lock_guard lock(aftermath_lock_);
    return aftermath_begin_ == aftermath_end_ ||
           aftermaths_[aftermath_begin_ % ring_entries].position + ring_entries > position + 1;
}

std::unique_lock<std::mutex> host_queue::await_free_entry() {
    for (;;) {
        reap(); // not under the lock, because it calls the program
        std::unique_lock lock(lock_);
        if (lanes_->ended()) return {};
        if (has_free_entry()) return lock;
        const std::uint64_t position = submitted();
        lock.unlock();
        if (position >= ring_entries && !wait(position + 1 - ring_entries)) return {};
    }
}

void host_queue::reserve() {
    if (aftermaths_.empty()) aftermaths_.resize(ring_entries);
}

ring_entry& host_queue::entry_of(std::uint64_t position) const {
    return entry_at(*words_, static_cast<std::uint32_t>(position - 1));
}

void host_queue::remember(const work_request& request) {
    const bool stamp = request.kind == entry_kind::stamp;
    if (request.destroy == nullptr && !stamp) return;
    const std::lock_guard lock(aftermath_lock_);
    aftermaths_[aftermath_end_++ % ring_entries] = {
        submitted() + 1, request.closure, request.destroy, stamp ? request.records : nullptr};
}

void host_queue::publish() {
    const std::uint64_t position = submitted() + 1;
    submitted_.store(position);
    tsan_order::publish(entry_of(position));
    ring_publish(lanes_->shared(), *words_);
}

void host_queue::end() {
    sys::wake(words_->completed);
    const std::lock_guard no_submissions(lock_);
}

} // namespace hmmrt
