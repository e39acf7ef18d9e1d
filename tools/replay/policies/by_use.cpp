// SPDX-License-Identifier: MIT
// The kernel module's policy: what each hook does by default.
#include "policy.hpp"

#include <algorithm>

namespace replay {

hmmrt_policy_window policy::window(const fault& of) {
    page_set mapped = of.at.mapped;
    mapped.add(of.page);
    const hmmrt_policy_density density = {mapped.bits(), of.at.faults, of.before, of.after};
    return hmmrt_policy_device_window(&density, of.page, &no_advice, &of.on.knobs);
}

residency policy::resides(const fault& of) {
    const hmmrt_policy_page page = {
        .advice = &no_advice,
        .device = 0,
        .migration_policy = of.on.knobs.of[HMMRT_KNOB_MIGRATION_POLICY],
        .read_duplication = false,
        .write = of.write,
        .migratable = true,
        .too_small = of.thrashes,
        .pinned = false,
        .counted = false,
    };
    return hmmrt_policy_residency(&page).want == HMMRT_POLICY_MOVE ? residency::moves
                                                                   : residency::stays;
}

when_full policy::full(const fault&) {
    return when_full::stays;
}

int policy::victim(const machine& on, std::span<const int> candidates) {
    return *std::min_element(candidates.begin(), candidates.end(), [&](int one, int other) {
        return (*on.chunks)[static_cast<std::size_t>(one)].order <
               (*on.chunks)[static_cast<std::size_t>(other)].order;
    });
}

/// As block_look() of kmod/serve_bypass.c.
verdict policy::exchange(const look& at) {
    hmmrt_policy_bypass& state = at.at.bypass;
    const bool used = hmmrt_policy_bypass_look(&state, at.remote, at.on.now) != 0;
    const bool room = at.on.free_pages >= std::min(at.remote, little_pages);
    const bool takes = hmmrt_policy_bypass_takes(&state, room, at.on.shortages);
    if (!used) return verdict::waits;
    if (room) return takes ? verdict::takes_free : verdict::waits;
    if (!hmmrt_policy_bypass_goes(&state, at.remote)) return verdict::waits;
    if (at.victim_used >= state.since) {
        hmmrt_policy_bypass_refused(&state, at.on.now);
        return verdict::waits;
    }
    return at.on.aged_since >= state.since ? verdict::exchanges : verdict::ages;
}

/// As hmmrt_throttle() and hmmrt_request_thrashes() of kmod/decide_thrash.c.
thrash_answer policy::thrash(const fault& of) {
    const hmmrt_policy_pace pace = of.on.pace();
    std::uint64_t nap = 0;
    const hmmrt_policy_held held =
        hmmrt_policy_hold(&of.at.thrashing, of.page, HMMRT_POLICY_LOCATION_DEVICE(0), &pace, &nap);
    const std::uint64_t there = of.on.pages - of.on.free_pages;
    const bool is_too_small =
        hmmrt_policy_thrashes(&of.at.refaults, of.on.evicted, there, of.on.pages, &pace);
    return {held == HMMRT_HOLD_NAP || held == HMMRT_HOLD_SHARE ? nap : 0,
            is_too_small || held == HMMRT_HOLD_PIN || held == HMMRT_HOLD_PINNED};
}

std::unique_ptr<policy> make_by_use(std::uint64_t) {
    return std::make_unique<policy>();
}

} // namespace replay
