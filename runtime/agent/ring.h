// SPDX-License-Identifier: MIT
/*
 * The work queues: the application's and the agent's side.
 *
 * Order: entry s of a queue runs only when `completed` of the queue equals s.
 * Each queue has one active entry at a time.
 *
 * Ready: the active entry may have to wait until other queues reach a position
 * (`after`), or until the application opens its gate. Until then lanes skip the
 * queue. An entry only waits for entries that were published before it, so
 * there are no circular waits, however streams share queues.
 *
 * Cursor: sequence << 32 | pieces not taken. It counts down, so that a lane can
 * take a piece by changing only the cursor. The other members of an entry may
 * be rewritten until the lane owns a piece of it.
 *
 * Done: the number of pieces that ran or were dropped. The lane that completes
 * the count advances `completed`; only then can the entry be reused.
 *
 * Serial: an entry of this kind has at most one piece to take. The next piece
 * becomes available when the previous one is done. The lane that owns a piece
 * gets its index from `done`.
 *
 * Sleeping: a lane reads `doorbell`, searches for work, and then waits until
 * the doorbell changes. A thread that makes work available changes the doorbell
 * and then reads `sleepers`. A condition that an entry waits for becomes true
 * either through a lane, which changes the doorbell and searches for work
 * itself, or through the application, which rings the doorbell. Since several
 * entries may wait for the same condition, a lane that starts one of them wakes
 * another lane. So does a lane that leaves a serial entry for other work.
 *
 * Numbers wrap around. A waiter only waits for submitted positions, which are
 * at most a ring of entries ahead; any other distance means that the position
 * was reached long ago. Limit: if the queue completes about 2^32 (minus at most
 * ring_entries) more entries before the waiter checks, the position appears to
 * be ahead until the queue advances further.
 */
#pragma once

#include "control.h"
#include "futex.h"

#include <initializer_list>

namespace hmmrt {

constexpr std::uint64_t cursor_of(std::uint32_t sequence, std::uint32_t remaining) {
    return std::uint64_t{sequence} << 32 | remaining;
}

inline ring_entry& entry_at(work_queue& queue, std::uint32_t sequence) {
    return queue.entries[sequence % ring_entries];
}

/// Wakes up to @count lanes. The caller has already made the work visible.
inline void ring_wake_lanes(control& ctl, std::uint32_t count) {
    ctl.doorbell.fetch_add(1);
    const std::uint32_t sleepers = ctl.sleepers.load();
    if (count > sleepers) count = sleepers;
    if (count > 0) futex_wake(ctl.doorbell, count);
}

/// True if the queue has completed @target entries, which must have been
/// submitted: see Numbers.
inline bool ring_reached(const work_queue& queue, std::uint32_t target) {
    return target - queue.completed.load() - 1 >= ring_entries;
}

inline bool ring_serial(const ring_entry& entry) {
    return entry.kind.load(std::memory_order_relaxed) == entry_kind::serial;
}

/// Maximum number of lanes that can work on the entry in parallel.
inline std::uint32_t ring_width(const ring_entry& entry) {
    return ring_serial(entry) ? 1 : entry.pieces.load(std::memory_order_relaxed);
}

// ---- the application's side; the caller holds the queue's lock

inline bool ring_full(const work_queue& queue) {
    return queue.submitted.load(std::memory_order_relaxed) - queue.completed.load() >= ring_entries;
}

/// Publishes the entry at `submitted`, after the caller has filled in its other
/// members.
inline std::uint32_t ring_publish(control& ctl, work_queue& queue) {
    const std::uint32_t sequence = queue.submitted.load(std::memory_order_relaxed);
    ring_entry& entry = entry_at(queue, sequence);
    const std::uint32_t bit = 1u << (&queue - ctl.queues);

    const std::uint32_t width = ring_width(entry);
    entry.done.store(0, std::memory_order_relaxed);
    entry.cursor.store(cursor_of(sequence, width));
    queue.submitted.store(sequence + 1);
    if ((ctl.used.load(std::memory_order_relaxed) & bit) == 0) ctl.used.fetch_or(bit);
    // If the entry isn't the active one, the lane that completes the previous
    // entry continues with it.
    if (queue.completed.load() == sequence) ring_wake_lanes(ctl, width);
    return sequence;
}

/// Opens the gate with this number. All earlier gates of the queue must be
/// open.
inline void ring_open_gate(control& ctl, work_queue& queue, std::uint32_t sequence) {
    queue.opened.store(sequence + 1);
    ring_wake_lanes(ctl, 1);
}

// ---- the agent's side

/// A piece of an entry, owned by this lane.
struct piece {
    work_queue* from = nullptr;
    ring_entry* entry = nullptr;
    std::uint32_t sequence = 0;
    std::uint32_t index = 0;
};

/// True if the entry waits for something besides its turn in the queue.
inline bool ring_conditional(const ring_entry& entry) {
    return entry.after_mask.load(std::memory_order_relaxed) != 0 ||
           entry.kind.load(std::memory_order_relaxed) == entry_kind::gate;
}

/// True if the active entry may run. No lane owns it yet, so the values read
/// here are only valid if the cursor hasn't changed when the caller takes a
/// piece. After a fault all entries count as ready, because we drop them.
inline bool ring_ready(const control& ctl, const work_queue& queue, const ring_entry& entry,
                       std::uint32_t sequence) {
    if (!ring_conditional(entry) || ctl.sticky.load() != 0) return true;
    // Only compare for equality: the last gate of the queue may be long ago.
    if (entry.kind.load(std::memory_order_relaxed) == entry_kind::gate &&
        queue.opened.load() != sequence + 1)
        return false;
    std::uint32_t mask = entry.after_mask.load(std::memory_order_relaxed);
    for (; mask != 0; mask &= mask - 1) {
        const auto other = static_cast<std::uint32_t>(__builtin_ctz(mask)) % queue_count;
        if (!ring_reached(ctl.queues[other], entry.after[other].load(std::memory_order_relaxed)))
            return false;
    }
    return true;
}

/// Takes up to @want pieces of the queue's active entry and returns how many it
/// took.
inline std::uint32_t ring_take(control& ctl, work_queue& queue, std::uint32_t want, piece& out) {
    for (;;) {
        const std::uint32_t sequence = queue.completed.load();
        if (queue.submitted.load() == sequence) return 0;
        ring_entry& entry = entry_at(queue, sequence);
        std::uint64_t cursor = entry.cursor.load();
        if (cursor >> 32 != sequence) continue; // the entry was completed
        const auto remaining = static_cast<std::uint32_t>(cursor);
        if (remaining == 0 || !ring_ready(ctl, queue, entry, sequence)) return 0;
        const std::uint32_t taken = want < remaining ? want : remaining;
        if (!entry.cursor.compare_exchange_strong(cursor, cursor - taken)) continue;
        const std::uint32_t index = ring_serial(entry)
                                        ? entry.done.load()
                                        : entry.pieces.load(std::memory_order_relaxed) - remaining;
        out = {&queue, &entry, sequence, index};
        return taken;
    }
}

/// Takes all remaining pieces of the entry of @mine and returns how many it
/// took.
inline std::uint32_t ring_take_rest(control& ctl, const piece& mine) {
    if (ring_serial(*mine.entry))
        return mine.entry->pieces.load(std::memory_order_relaxed) - mine.index - 1;
    piece rest;
    return ring_take(ctl, *mine.from, UINT32_MAX, rest);
}

/// The high and low priority queues that a lane served last. The next search
/// starts after them.
struct queue_turns {
    std::uint32_t high = 0;
    std::uint32_t low = 0;
};

/// Takes a piece of one of these queues, starting with the queue after @turn.
inline bool ring_take_turn(control& ctl, std::uint32_t queues, std::uint32_t& turn, piece& out) {
    const std::uint32_t before = (2u << turn) - 1;
    for (std::uint32_t part : {queues & ~before, queues & before})
        for (; part != 0; part &= part - 1) {
            const auto number = static_cast<std::uint32_t>(__builtin_ctz(part));
            if (ring_take(ctl, ctl.queues[number], 1, out) == 0) continue;
            turn = number;
            return true;
        }
    return false;
}

/// Takes a piece of any queue: high priority first, round robin among equals.
/// On entry @out is the lane's previous piece, if any.
inline bool ring_find(control& ctl, queue_turns& turns, piece& out) {
    const std::uint32_t used = ctl.used.load() & ((1u << queue_count) - 1);
    const work_queue* const left =
        out.entry != nullptr && ring_serial(*out.entry) ? out.from : nullptr;
    if (!ring_take_turn(ctl, used & high_queues, turns.high, out) &&
        !ring_take_turn(ctl, used & ~high_queues, turns.low, out))
        return false;
    if (out.index == 0 && ring_conditional(*out.entry))
        ring_wake_lanes(ctl, ring_width(*out.entry));
    if (left != nullptr && left != out.from) ring_wake_lanes(ctl, 1);
    return true;
}

/// Marks @count pieces as done. The last piece completes the entry.
inline void ring_finish(control& ctl, const piece& mine, std::uint32_t count) {
    work_queue& queue = *mine.from;
    const std::uint32_t pieces = mine.entry->pieces.load(std::memory_order_relaxed);
    const bool serial = ring_serial(*mine.entry);
    if (mine.entry->done.fetch_add(count) + count != pieces) {
        if (serial) mine.entry->cursor.store(cursor_of(mine.sequence, 1));
        return;
    }

    const std::uint32_t now = mine.sequence + 1;
    queue.completed.store(now);
    if (queue.waiters.load() > 0 && static_cast<std::int32_t>(now - queue.wake_at.load()) >= 0)
        futex_wake(queue.completed, INT32_MAX);
    // This lane searches for work next. If other queues are in use, it may take
    // work from one of them. Then the work that becomes available here needs a
    // lane that has just searched and is about to sleep.
    const std::uint32_t used = ctl.used.load();
    const std::uint32_t own = (used & (used - 1)) == 0 ? 1 : 0;
    if (queue.submitted.load() == now) {
        if (own == 0) ctl.doorbell.fetch_add(1);
        return;
    }
    // Other lanes may have completed that entry by now, and the application may have reused it.
    // Then we don't have to wake anyone for it, and any width will do.
    const std::uint32_t width = ring_width(entry_at(queue, now));
    if (width > own) ring_wake_lanes(ctl, width - own);
}

} // namespace hmmrt
