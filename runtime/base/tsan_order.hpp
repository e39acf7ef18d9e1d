// SPDX-License-Identifier: MIT
/*
 * Tells TSan in which order device code runs, if the program uses TSan. The
 * library itself may be built without it, and then TSan doesn't see the atomics
 * of the rings.
 *
 * Each ring entry is two points in time: its publication and its end. A lane
 * that starts a piece comes after the publication, and after the end of all
 * that the entry waits for. Two pieces of the same entry are unordered, so that
 * TSan finds races between them.
 */
#pragma once

#include "agent/ring.h"

extern "C" {
[[gnu::weak]] void __tsan_acquire(void*);
[[gnu::weak]] void __tsan_release(void*);
}

namespace hmmrt::tsan_order {

inline void release(const void* point) {
    if (__tsan_release != nullptr) __tsan_release(const_cast<void*>(point));
}

inline void acquire(const void* point) {
    if (__tsan_acquire != nullptr) __tsan_acquire(const_cast<void*>(point));
}

/// The end of the entry before this position.
inline const void* end_before(work_queue& queue, std::uint32_t position) {
    return &entry_at(queue, position - 1).done;
}

/// Call this before publishing an entry, and before opening its gate.
inline void publish(const ring_entry& entry) {
    release(&entry.cursor);
}

/// Call this when a position is found to be reached.
inline void reach(work_queue& queue, std::uint32_t position) {
    acquire(end_before(queue, position));
}

inline void begin(control& ctl, const piece& mine) {
    if (__tsan_acquire == nullptr) return;
    acquire(&mine.entry->cursor);
    acquire(end_before(*mine.from, mine.sequence));
    std::uint32_t mask = mine.entry->after_mask.load(std::memory_order_relaxed);
    for (; mask != 0; mask &= mask - 1) {
        const auto other = static_cast<std::uint32_t>(__builtin_ctz(mask)) % queue_count;
        reach(ctl.queues[other], mine.entry->after[other].load(std::memory_order_relaxed));
    }
}

inline void end(const piece& mine) {
    release(&mine.entry->done);
}

} // namespace hmmrt::tsan_order
