// SPDX-License-Identifier: MIT
// Work that the program queues, and positions in queues.
#pragma once

#include "agent/control.h"
#include "hmm/hmm_runtime.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace hmmrt {

class session;

inline constexpr std::uint32_t all_queues = (1u << queue_count) - 1;

/// Positions of other queues that an entry waits for.
struct entry_after {
    std::uint32_t mask = 0;
    std::array<std::uint64_t, queue_count> position = {};

    void add(std::uint32_t queue, std::uint64_t to) {
        mask |= 1u << queue;
        if (to > position[queue]) position[queue] = to;
    }
};

/// The position at which an event was recorded. The event has completed when
/// the queue has reached this position.
struct event_point {
    std::shared_ptr<session> running;
    std::uint32_t queue = 0;
    std::uint64_t position = 0;
    /// only valid for stamps, after reap()
    std::atomic<std::uint64_t> nanoseconds{0};
};

/// The action at a gate: a function or an event.
struct gate_task {
    hmmHostFn_t function = nullptr;
    void* data = nullptr;
    /// destroys data; called even if the function isn't
    hmmDestroyFunction_t destroy = nullptr;
    std::shared_ptr<event_point> event; ///< of another session
};

/// Everything that an entry needs except its position in the queue.
struct work_request {
    entry_kind kind = entry_kind::range;
    hmmRangeFunction_t function = nullptr;
    const void* named = nullptr; ///< the function to name in messages, if not `function`
    void* closure = nullptr;
    hmmDestroyFunction_t destroy = nullptr;
    std::uint64_t items = 0;
    prefetch_work prefetch = {};
    advice_work advice = {};
    discard_work discard = {};
    const gate_task* gate = nullptr;
    /// The event that this entry records; receives the position, and the time
    /// of a stamp.
    std::shared_ptr<event_point> records;
    /// a position of this session to wait for
    const event_point* after = nullptr;
};

} // namespace hmmrt
