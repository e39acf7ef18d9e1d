// SPDX-License-Identifier: MIT
/*
 * The launch ring, both ends of it.
 *
 * Order      entry s runs only when `completed` == s; one is active at a time.
 * Cursor     sequence << 32 | pieces not yet taken. It counts down, so that a lane
 *            needs nothing but the cursor to take a piece: the other members of an
 *            entry may be rewritten until the lane owns a piece of it.
 * Done       counts pieces that ran or were given up; who makes it complete
 *            advances `completed`, and only then may the entry be reused.
 * Sleeping   a lane reads `doorbell`, looks for work, then waits for the doorbell to
 *            change; who makes work available changes it, then looks at `sleepers`.
 */
#pragma once

#include "control.h"
#include "futex.h"

namespace hmmrt {

inline constexpr std::uint64_t cursor_of(std::uint32_t sequence, std::uint32_t remaining) {
    return std::uint64_t{sequence} << 32 | remaining;
}

inline ring_entry& entry_at(control& ctl, std::uint32_t sequence) {
    return ctl.ring[sequence % ring_entries];
}

/// Wakes up to @count lanes for work that was made visible before.
inline void ring_wake_lanes(control& ctl, std::uint32_t count) {
    ctl.doorbell.fetch_add(1);
    const std::uint32_t sleepers = ctl.sleepers.load();
    if (count > sleepers) count = sleepers;
    if (count > 0) futex_wake(ctl.doorbell, count);
}

// ---- the application's end; callers exclude each other

inline bool ring_full(const control& ctl) {
    return ctl.submitted.load(std::memory_order_relaxed) - ctl.completed.load() >= ring_entries;
}

/// Publishes the entry at `submitted`, whose other members are filled in.
inline std::uint32_t ring_publish(control& ctl) {
    const std::uint32_t sequence = ctl.submitted.load(std::memory_order_relaxed);
    ring_entry& entry = entry_at(ctl, sequence);

    entry.done.store(0, std::memory_order_relaxed);
    entry.cursor.store(cursor_of(sequence, entry.pieces));
    ctl.submitted.store(sequence + 1);
    // Not at the head: the lane that completes the entry before goes on with it.
    if (ctl.completed.load() == sequence) ring_wake_lanes(ctl, entry.pieces);
    return sequence;
}

inline bool ring_reached(const control& ctl, std::uint32_t target) {
    return static_cast<std::int32_t>(ctl.completed.load() - target) >= 0;
}

// ---- the agent's end

/// A piece of an entry that this lane now owns.
struct piece {
    ring_entry* entry = nullptr;
    std::uint32_t sequence = 0;
    std::uint32_t index = 0;
};

/// Takes @want pieces, or what is left, of the active entry; returns how many.
inline std::uint32_t ring_take(control& ctl, std::uint32_t want, piece& out) {
    for (;;) {
        const std::uint32_t sequence = ctl.completed.load();
        if (ctl.submitted.load() == sequence) return 0;
        ring_entry& entry = entry_at(ctl, sequence);
        std::uint64_t cursor = entry.cursor.load();
        if (cursor >> 32 != sequence) continue; // completed meanwhile
        const auto remaining = static_cast<std::uint32_t>(cursor);
        if (remaining == 0) return 0;
        const std::uint32_t taken = want < remaining ? want : remaining;
        if (!entry.cursor.compare_exchange_strong(cursor, cursor - taken)) continue;
        out = {&entry, sequence, entry.pieces - remaining};
        return taken;
    }
}

/// Gives back @count pieces as done; the last one ends the entry.
inline void ring_finish(control& ctl, const piece& mine, std::uint32_t count) {
    const std::uint32_t pieces = mine.entry->pieces;
    if (mine.entry->done.fetch_add(count) + count != pieces) return;

    const std::uint32_t now = mine.sequence + 1;
    ctl.completed.store(now);
    if (ctl.waiters.load() > 0 && static_cast<std::int32_t>(now - ctl.wake_at.load()) >= 0)
        futex_wake(ctl.completed, INT32_MAX);
    if (ctl.submitted.load() == now) return;
    const std::uint32_t next_pieces = entry_at(ctl, now).pieces;
    if (next_pieces > 1) ring_wake_lanes(ctl, next_pieces - 1);
}

} // namespace hmmrt
