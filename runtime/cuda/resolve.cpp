// SPDX-License-Identifier: MIT
/*
 * Decides which threads continue when those of a group are at different
 * synchronization points.
 *
 * A thread at a warp operation waits for the threads of its mask that have not
 * ended. At a block barrier, all threads of the block that have not ended wait
 * for each other. Threads that wait for others that never arrive end the
 * launch.
 */
#include "block_name.hpp"
#include "device_code.hpp"
#include "warp_operations.hpp"

#include <initializer_list>

namespace hmmcuda {
namespace {

const char* name_of(sync_kind kind) {
    switch (kind) {
    case sync_kind::block_barrier:
        return "__syncthreads";
    case sync_kind::block_count:
        return "__syncthreads_count, _and or _or";
    case sync_kind::grid_barrier:
        return "grid_group::sync()";
    case sync_kind::lockstep:
        return "a loop iteration";
    case sync_kind::warp_barrier:
        return "__syncwarp";
    case sync_kind::warp_exchange:
    case sync_kind::warp_exchange32:
        return "a shuffle";
    case sync_kind::warp_ballot:
        return "a vote";
    case sync_kind::warp_match:
        return "a match";
    case sync_kind::warp_active:
        return "__activemask";
    case sync_kind::start:
        break;
    }
    return "the start";
}

bool is_of_warp(sync_kind kind) {
    return kind >= sync_kind::warp_barrier;
}

std::uint32_t state_of(const block_run& run, std::uint32_t thread) {
    return run.thread_states[thread] & state_mask;
}

/// Reports threads that wait for each other at different places, and ends the
/// launch.
[[noreturn]] void report_apart(const block_run& run, std::uint32_t first, std::uint32_t second) {
    const sync_point& here = run.kernel->sync_points[state_of(run, first)];
    const sync_point& there = run.kernel->sync_points[state_of(run, second)];
    fail_block(run,
               "deadlock: threads wait at different synchronization points: %s at %s (%s:%u), %s "
               "at %s (%s:%u)",
               thread_of(run, first).c_str(), name_of(here.kind), here.file, here.line,
               thread_of(run, second).c_str(), name_of(there.kind), there.file, there.line);
}

/// Threads of a warp. Sets of them are masks of lanes.
struct warp {
    block_run& run;
    std::uint32_t first;
    std::uint32_t last;

    std::uint32_t lanes_at(std::uint32_t state) const {
        std::uint32_t found = 0;
        for (std::uint32_t thread = first; thread < last; thread++)
            if (state_of(run, thread) == state) found |= 1u << (thread - first);
        return found;
    }
    std::uint32_t all() const {
        return last - first >= warp_size ? ~0u : (1u << (last - first)) - 1;
    }
    /// Returns the lanes at this state that have no lane of their mask
    /// elsewhere.
    std::uint32_t complete(std::uint32_t state) const {
        const std::uint32_t here = lanes_at(state);
        const std::uint32_t elsewhere = all() & ~here & ~lanes_at(state_end);
        std::uint32_t found = 0;
        for (std::uint32_t lane = 0; lane < warp_size; lane++)
            if ((here >> lane & 1) != 0 && (run.mask[lane] & elsewhere) == 0) found |= 1u << lane;
        return found;
    }
    void release(std::uint32_t state, std::uint32_t lanes) const {
        operate(run, run.kernel->sync_points[state].kind, lanes);
        for (std::uint32_t thread = first; thread < last; thread++)
            if ((lanes >> (thread - first) & 1) != 0)
                run.thread_states[thread] = state | state_ready;
    }
    /// Releases lanes at one operation; false if none can continue. The mask of __activemask()
    /// consists of all lanes that reach it before the others have to wait.
    bool release_any() const {
        for (const bool active : {false, true})
            for (std::uint32_t state = state_start + 1; state < run.kernel->states; state++) {
                const sync_kind kind = run.kernel->sync_points[state].kind;
                if (!is_of_warp(kind) || (kind == sync_kind::warp_active) != active) continue;
                const std::uint32_t lanes = active ? lanes_at(state) : complete(state);
                if (lanes == 0) continue;
                release(state, lanes);
                return true;
            }
        return false;
    }
};

/// Lets threads continue that don't wait; false if there are none.
bool release_in_lockstep(block_run& run, std::uint32_t first, std::uint32_t last) {
    std::uint32_t found = state_end;
    for (std::uint32_t thread = first; thread < last; thread++) {
        const std::uint32_t state = state_of(run, thread);
        if (run.kernel->sync_points[state].kind != sync_kind::lockstep) continue;
        if (found == state_end) found = state;
        if (state == found) run.thread_states[thread] = state | state_ready;
    }
    return found != state_end;
}

/// Finds a state with ready threads, and returns it like __hmm_resolve_group(); 0 if there is none.
std::uint32_t find_ready(const block_run& run, std::uint32_t first, std::uint32_t last) {
    std::uint32_t found = 0;
    bool together = true;
    for (std::uint32_t thread = first; thread < last; thread++) {
        const std::uint32_t state = run.thread_states[thread];
        if ((state & state_ready) != 0 && found == 0) found = state & state_mask;
        together = together && state == run.thread_states[first];
    }
    if (found == 0) return 0;
    return found | (together ? state_together : state_ready);
}

} // namespace
} // namespace hmmcuda

using namespace hmmcuda;

// hmmcc's passes create calls to these.
extern "C" {

/// Finds threads of a group that can continue. Returns their state with state_ready or
/// state_together, or else the state of the group, which waits or has ended.
std::uint32_t __hmm_resolve_group(block_run* run, std::uint32_t first, std::uint32_t last) {
    std::uint32_t found = find_ready(*run, first, last);
    if (found == 0) {
        const bool released = release_in_lockstep(*run, first, last) ||
                              (last - first <= warp_size && warp{*run, first, last}.release_any());
        if (released) found = find_ready(*run, first, last);
    }
    if (found != 0) return found;
    for (std::uint32_t thread = first; thread < last; thread++)
        if (state_of(*run, thread) != state_end) return state_mixed;
    return state_end;
}

/// Called when all groups wait or have ended, but not all at the same place. Marks threads that
/// wait at a block or grid barrier as ready, and returns their state.
std::uint32_t __hmm_resolve_block(block_run* run, std::uint32_t group_size) {
    std::uint32_t waits = run->threads; // the first waiting thread
    for (std::uint32_t thread = 0; thread < run->threads; thread++) {
        const std::uint32_t group = run->group_states[thread / group_size];
        if (group != state_mixed) run->thread_states[thread] = group;
        const std::uint32_t state = state_of(*run, thread);
        if (state == state_end) continue;
        if (waits == run->threads) waits = thread;
        if (state != state_of(*run, waits)) report_apart(*run, waits, thread);
        if (group == state_mixed) run->thread_states[thread] = state | state_ready;
    }
    return waits == run->threads ? state_end : state_of(*run, waits);
}

} // extern "C"
