// SPDX-License-Identifier: MIT
/*
 * The queues of work, both ends of them.
 *
 * Order      entry s of a queue runs only when the queue's `completed` == s; one is
 *            active at a time.
 * Ready      an active entry may have to wait: for other queues to get somewhere
 *            (`after`), for the application to open its gate. Lanes pass it by until
 *            then. It waits only for entries that were published before it, so that no
 *            circle can come about, however streams share queues.
 * Cursor     sequence << 32 | pieces not yet taken. It counts down, so that a lane
 *            needs nothing but the cursor to take a piece: the other members of an
 *            entry may be rewritten until the lane owns a piece of it.
 * Done       counts pieces that ran or were given up; who makes it complete
 *            advances `completed`, and only then may the entry be reused.
 * Serial     an entry of this kind never has more than one piece to take: the next one
 *            is there when the one before is done. Which one it is says `done`, to who
 *            owns it.
 * Sleeping   a lane reads `doorbell`, looks for work, then waits for the doorbell to
 *            change; who makes work available changes it, then looks at `sleepers`.
 *            What an entry waited for is made true by a lane, which changes the doorbell
 *            and looks for work itself, or by the application, which rings. Several
 *            entries may have waited for the same: who begins with one of them wakes
 *            another lane. So does who leaves a serial entry for other work.
 * Numbers    wrap. A place that somebody waits for was submitted, so that no more than a
 *            ring of entries is missing to it; any other distance says that it was reached
 *            long ago. The bound: if the queue runs 2^32 entries more before somebody looks,
 *            less at most ring_entries, the place seems ahead until the queue gets on.
 */
#pragma once

#include "control.h"
#include "futex.h"

#include <initializer_list>

namespace hmmrt {

inline constexpr std::uint64_t cursor_of(std::uint32_t sequence, std::uint32_t remaining) {
    return std::uint64_t{sequence} << 32 | remaining;
}

inline ring_entry& entry_at(work_queue& queue, std::uint32_t sequence) {
    return queue.entries[sequence % ring_entries];
}

/// Wakes up to @count lanes for work that was made visible before.
inline void ring_wake_lanes(control& ctl, std::uint32_t count) {
    ctl.doorbell.fetch_add(1);
    const std::uint32_t sleepers = ctl.sleepers.load();
    if (count > sleepers) count = sleepers;
    if (count > 0) futex_wake(ctl.doorbell, count);
}

/// Has it completed so many entries? They were submitted, see Numbers.
inline bool ring_reached(const work_queue& queue, std::uint32_t target) {
    return target - queue.completed.load() - 1 >= ring_entries;
}

inline bool ring_serial(const ring_entry& entry) {
    return entry.kind.load(std::memory_order_relaxed) == entry_kind::serial;
}

/// How many lanes can be at it at the same time.
inline std::uint32_t ring_width(const ring_entry& entry) {
    return ring_serial(entry) ? 1 : entry.pieces;
}

// ---- the application's end; callers exclude each other

inline bool ring_full(const work_queue& queue) {
    return queue.submitted.load(std::memory_order_relaxed) - queue.completed.load() >= ring_entries;
}

/// Publishes the entry at `submitted`, whose other members are filled in.
inline std::uint32_t ring_publish(control& ctl, work_queue& queue) {
    const std::uint32_t sequence = queue.submitted.load(std::memory_order_relaxed);
    ring_entry& entry = entry_at(queue, sequence);
    const std::uint32_t bit = 1u << (&queue - ctl.queues);

    const std::uint32_t width = ring_width(entry);
    entry.done.store(0, std::memory_order_relaxed);
    entry.cursor.store(cursor_of(sequence, width));
    queue.submitted.store(sequence + 1);
    if ((ctl.used.load(std::memory_order_relaxed) & bit) == 0) ctl.used.fetch_or(bit);
    // Not at the head: the lane that completes the entry before goes on with it.
    if (queue.completed.load() == sequence) ring_wake_lanes(ctl, width);
    return sequence;
}

/// Lets the gate with this number pass; those before it have passed.
inline void ring_open_gate(control& ctl, work_queue& queue, std::uint32_t sequence) {
    queue.opened.store(sequence + 1);
    ring_wake_lanes(ctl, 1);
}

// ---- the agent's end

/// A piece of an entry that this lane now owns.
struct piece {
    work_queue* from = nullptr;
    ring_entry* entry = nullptr;
    std::uint32_t sequence = 0;
    std::uint32_t index = 0;
};

/// Does it wait for more than its turn?
inline bool ring_conditional(const ring_entry& entry) {
    return entry.after_mask.load(std::memory_order_relaxed) != 0 ||
           entry.kind.load(std::memory_order_relaxed) == entry_kind::gate;
}

/// May the active entry run? Nobody owns it yet: what is read here counts only if its
/// cursor turns out not to have moved meanwhile. After a fault all entries are given up.
inline bool ring_ready(const control& ctl, const work_queue& queue, const ring_entry& entry,
                       std::uint32_t sequence) {
    if (!ring_conditional(entry) || ctl.sticky.load() != 0) return true;
    // Not compared by order: it may be long since a queue had a gate.
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

/// Takes @want pieces, or what is left, of a queue's active entry; returns how many.
inline std::uint32_t ring_take(control& ctl, work_queue& queue, std::uint32_t want, piece& out) {
    for (;;) {
        const std::uint32_t sequence = queue.completed.load();
        if (queue.submitted.load() == sequence) return 0;
        ring_entry& entry = entry_at(queue, sequence);
        std::uint64_t cursor = entry.cursor.load();
        if (cursor >> 32 != sequence) continue; // completed meanwhile
        const auto remaining = static_cast<std::uint32_t>(cursor);
        if (remaining == 0 || !ring_ready(ctl, queue, entry, sequence)) return 0;
        const std::uint32_t taken = want < remaining ? want : remaining;
        if (!entry.cursor.compare_exchange_strong(cursor, cursor - taken)) continue;
        const std::uint32_t index =
            ring_serial(entry) ? entry.done.load() : entry.pieces - remaining;
        out = {&queue, &entry, sequence, index};
        return taken;
    }
}

/// Takes all that is left of the entry that @mine is a piece of; returns how many.
inline std::uint32_t ring_take_rest(control& ctl, const piece& mine) {
    if (ring_serial(*mine.entry)) return mine.entry->pieces - mine.index - 1;
    piece rest;
    return ring_take(ctl, *mine.from, UINT32_MAX, rest);
}

/// The queue of high and of low priority that a lane served last: the next one's turn it is.
struct queue_turns {
    std::uint32_t high = 0;
    std::uint32_t low = 0;
};

/// Takes a piece of one of these queues; those behind @turn come first.
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

/// Takes a piece of any queue: high priority first, equals in turn. @out is what the lane
/// had before, if anything.
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

/// Gives back @count pieces as done; the last one ends the entry.
inline void ring_finish(control& ctl, const piece& mine, std::uint32_t count) {
    work_queue& queue = *mine.from;
    const std::uint32_t pieces = mine.entry->pieces;
    const bool serial = ring_serial(*mine.entry);
    if (mine.entry->done.fetch_add(count) + count != pieces) {
        if (serial) mine.entry->cursor.store(cursor_of(mine.sequence, 1));
        return;
    }

    const std::uint32_t now = mine.sequence + 1;
    queue.completed.store(now);
    if (queue.waiters.load() > 0 && static_cast<std::int32_t>(now - queue.wake_at.load()) >= 0)
        futex_wake(queue.completed, INT32_MAX);
    // This lane looks for work next. Where there are other queues it may find some there, and
    // what waited for this is for a lane that has just looked and is about to sleep.
    const std::uint32_t used = ctl.used.load();
    const std::uint32_t own = (used & (used - 1)) == 0 ? 1 : 0;
    if (queue.submitted.load() == now) {
        if (own == 0) ctl.doorbell.fetch_add(1);
        return;
    }
    const std::uint32_t width = ring_width(entry_at(queue, now));
    if (width > own) ring_wake_lanes(ctl, width - own);
}

} // namespace hmmrt
