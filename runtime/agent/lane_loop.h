// SPDX-License-Identifier: MIT
/*
 * The loop of a lane: take a piece of an active entry, run it, wait for more.
 * The agent, the cpu device and the fake agent of the unit tests share it. Each
 * has a port, which runs what the loop finds:
 *
 *      control& ctl;
 *      lane_control& shared;   // of this lane
 *      // True if the lane must return. Whoever ends it rings the doorbell.
 *      bool ended();
 *      // Called before and after each piece.
 *      void begin(const piece&);
 *      void end(const piece&);
 *      // Runs device code. If it fails, the port sets `sticky`.
 *      void run(const range_work&, std::uint64_t begin, std::uint64_t end);
 *      // Memory operations. They return 0 or -errno.
 *      std::int64_t prefetch(hmmrt_prefetch&);
 *      std::int64_t advise(hmmrt_advise&);
 *      std::int64_t discard(const discard_work&);
 *      // Nanoseconds of CLOCK_MONOTONIC.
 *      std::uint64_t now();
 *
 * The port is a template argument, because the agent's image can't have tables
 * of virtual functions: their addresses would need relocations.
 */
#pragma once

#include "ring.h"

#include <linux/hmmrt.h>

namespace hmmrt {

template <class Port>
class lane_loop {
  public:
    explicit lane_loop(const Port& port) : port_(port) {}

    /// Returns when the port has ended.
    void run() {
        control& ctl = port_.ctl;
        for (;;) {
            const std::uint32_t bell = ctl.doorbell.load();
            if (port_.ended()) return;
            if (work_once()) continue;
            ctl.sleepers.fetch_add(1);
            futex_wait(ctl.doorbell, bell);
            ctl.sleepers.fetch_sub(1);
        }
    }

  private:
    /// Returns false if it found no work.
    bool work_once() {
        control& ctl = port_.ctl;
        if (!ring_find(ctl, turns_, current_)) return false;
        port_.begin(current_);
        if (ctl.sticky.load() == 0) run_piece(*current_.entry, current_.index);
        port_.end(current_);
        // Don't complete a piece that was interrupted: waiters see that the
        // device has ended.
        if (port_.ended()) return true;
        std::uint32_t over = 1;
        // After a fault nothing runs, so drop the remaining pieces of the entry
        // at once.
        if (ctl.sticky.load() != 0) over += ring_take_rest(ctl, current_);
        ring_finish(ctl, current_, over);
        return true;
    }

    void run_piece(ring_entry& entry, std::uint32_t index) {
        const entry_kind kind = entry.kind.load(std::memory_order_relaxed);
        switch (kind) {
        case entry_kind::range:
        case entry_kind::serial:
            return run_range(entry.range, index);
        case entry_kind::prefetch:
            return note_result(kind, prefetch(entry.prefetch));
        case entry_kind::advice:
            return note_result(kind, advise(entry.advice));
        case entry_kind::discard:
            return note_result(kind, port_.discard(entry.discard));
        case entry_kind::stamp:
            entry.stamp = port_.now();
            return;
        case entry_kind::marker:
        case entry_kind::gate:
            return;
        }
    }

    /// Describes the piece in the control block, for messages, and runs it.
    void run_range(const range_work& work, std::uint32_t index) {
        const std::uint64_t begin = index * work.piece_items;
        const std::uint64_t left = work.items - begin;
        const std::uint64_t count = work.piece_items < left ? work.piece_items : left;
        lane_control& shared = port_.shared;
        shared.function.store(work.named, std::memory_order_relaxed);
        shared.first_item.store(begin, std::memory_order_relaxed);
        shared.item_count.store(count, std::memory_order_relaxed);
        shared.started.store(__builtin_ia32_rdtsc(), std::memory_order_relaxed);
        port_.run(work, begin, begin + count);
    }

    // Memory operations are not device code: strict mode doesn't apply to them,
    // and their failures aren't sticky.

    /// Records an error, unless one is recorded already.
    void note_result(entry_kind kind, std::int64_t result) {
        std::uint64_t none = 0;
        if (result < 0)
            port_.ctl.memory_error.compare_exchange_strong(none, memory_error_of(kind, result));
    }

    std::int64_t prefetch(const prefetch_work& work) {
        hmmrt_prefetch request = {};
        request.size = sizeof(request);
        request.addr = work.addr;
        request.len = work.len;
        request.location = work.location;
        return port_.prefetch(request);
    }

    std::int64_t advise(const advice_work& work) {
        hmmrt_advise request = {};
        request.size = sizeof(request);
        request.addr = work.addr;
        request.len = work.len;
        request.advice = work.advice;
        request.location = work.location;
        request.value = work.value;
        return port_.advise(request);
    }

    Port port_;
    piece current_;
    queue_turns turns_;
};

} // namespace hmmrt
