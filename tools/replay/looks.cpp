// SPDX-License-Identifier: MIT
// The part of the simulator that finds out what was used: the age of device memory as in
// kmod/decide_age.c, and looks at blocks that stay as in kmod/serve_bypass.c.
#include "simulator.hpp"

#include <algorithm>
#include <utility>

namespace replay {
namespace {

// As AGE_BLOCKS, AGE_VISITS, BYPASS_BLOCKS, BYPASS_AGE_MAX and EVICTIONS_MAX.
constexpr unsigned age_blocks = 8, age_visits = 1024, look_blocks = 16, most_evictions = 8;
constexpr std::uint64_t age_most_us = 600'000'000;
/// Timers expire with a tick, at 250 Hz.
constexpr std::uint64_t tick_us = 4000;

/// Returns when a timer expires that was set for @us.
std::uint64_t expiry(std::uint64_t now, std::uint64_t us) {
    return (now / tick_us + (us + tick_us - 1) / tick_us + 1) * tick_us;
}

} // namespace

/// As hmmrt_age_ask(): each use is reported once, to all who want to know.
void simulator::ask(std::uint64_t number) {
    block& at = blocks_[number];
    int last = no_chunk;
    pay(costs_.looks, prices_.look);
    const page_set local = at.used & at.local;
    for (unsigned i = 0; i < block_pages; i++) {
        if (!local.has(i)) continue;
        const int from = memory_.chunk_of(number * block_pages + i);
        if (from != last) memory_.note_use(from, now());
        last = from;
    }
    hmmrt_policy_bypass_used(&at.bypass, (at.used & at.remote()).count());
    at.used.clear();
}

/// As hmmrt_age().
void simulator::age() {
    unsigned asks = age_blocks, visits = age_visits;
    for (unsigned turn = 0; turn < age_blocks && asks > 0 && visits > 0; turn++) {
        for (; age_hand_ < blocks_.size() && asks > 0 && visits > 0; age_hand_++, visits--) {
            if (blocks_[age_hand_].local.is_empty()) continue;
            asks--;
            ask(age_hand_);
        }
        if (age_hand_ < blocks_.size()) continue;
        age_hand_ = 0;
        machine_.aged_since = std::exchange(round_began_, now());
    }
}

/// As hmmrt_bypass_begin() and hmmrt_bypass_look_later().
void simulator::stays(std::uint64_t number) {
    const std::uint64_t lapse = state().lapse;
    hmmrt_policy_bypass_begin(&blocks_[number].bypass, now(), lapse);
    has_stayed_ = true;
    next_look_ = std::min(next_look_, expiry(now(), lapse));
}

/// As looking_work().
void simulator::look_work() {
    const double began = time_;
    unsigned looks = look_blocks;
    moving_ = 0;
    if (machine_.aged_since >= age_since_ || now() - age_since_ > age_most_us) age_since_ = 0;
    if (age_since_ > 0) age();
    for (; look_hand_ < blocks_.size() && looks > 0; look_hand_++) {
        const hmmrt_policy_bypass& bypass = blocks_[look_hand_].bypass;
        if (bypass.until == 0) continue;
        if (now() >= bypass.until) {
            looks--;
            look_at(look_hand_);
        }
        if (bypass.until > 0 && (round_next_ == 0 || bypass.until < round_next_))
            round_next_ = bypass.until;
    }
    std::uint64_t next = now();
    if (look_hand_ == blocks_.size()) {
        look_hand_ = 0;
        next = age_since_ > 0 ? next : std::exchange(round_next_, 0);
        // a block that stays since the hand passed it
        if (next == 0 && std::exchange(has_stayed_, false)) next = now();
    }
    const auto took = static_cast<std::uint64_t>((time_ - began - moving_) / 1000);
    next_look_ = next == 0 ? never
                           : expiry(now(), std::max<std::uint64_t>(hmmrt_policy_bypass_pause(took),
                                                                   next - std::min(now(), next)));
}

void simulator::look_at(std::uint64_t number) {
    block& at = blocks_[number];
    counts_.looks++;
    ask(number);
    const unsigned remote = at.remote().count();
    if (remote == 0) hmmrt_policy_bypass_end(&at.bypass);
    if (at.bypass.until == 0) return;
    const int oldest = victim(never);
    const std::uint64_t used =
        oldest == no_chunk ? never : memory_.chunks()[static_cast<std::size_t>(oldest)].when;
    switch (policy_.exchange({at, state(), remote, used})) {
    case verdict::waits:
        break;
    case verdict::ages:
        age_since_ = at.bypass.since;
        break;
    case verdict::takes_free:
        move_looked_at(number, false);
        break;
    case verdict::exchanges:
        move_looked_at(number, true);
        break;
    }
}

/// Evicts the victim if it was not used since then.
bool simulator::evict_unused(std::uint64_t since, int& reserved) {
    release(reserved);
    age();
    const int oldest = victim(never);
    if (oldest == no_chunk || memory_.chunks()[static_cast<std::size_t>(oldest)].when >= since)
        return false;
    evict(oldest);
    reserved = oldest;
    return true;
}

/// As block_move().
void simulator::move_looked_at(std::uint64_t number, bool exchanges) {
    block& at = blocks_[number];
    const double began = time_;
    const std::uint64_t before = counts_.pages_in, since = at.bypass.since;
    const page_set all = clamped(number, {0, block_pages});
    int reserved = no_chunk;
    unsigned evictions = 0;
    bool partly = !exchanges;
    if (is_pinned(at)) {
        hmmrt_policy_bypass_refused(&at.bypass, now());
        return;
    }
    while (!move_in(number, all, reserved, partly))
        partly = evictions++ == most_evictions || !evict_unused(since, reserved);
    release(reserved);
    map(number, all);
    const bool moved = counts_.pages_in > before;
    if (moved) note_moved_in(number, all);
    counts_.exchanges += moved && evictions > 0;
    if (!moved && at.bypass.until > 0) hmmrt_policy_bypass_refused(&at.bypass, now());
    if (moved && at.bypass.until == 0) {
        hmmrt_policy_bypass_moved(&at.bypass);
        if (!at.remote().is_empty()) stays(number);
    }
    moving_ += time_ - began;
}

} // namespace replay
