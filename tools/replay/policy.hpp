// SPDX-License-Identifier: MIT
// A policy: a few hooks that decide about plain data. docs/policy-lab.md shows how to write one.
//
// What a hook does if a policy doesn't override it is what the kernel module does, by its own code
// (kmod/policy.c, policy_thrash.c and policy_bypass.c). Hooks may change the states in the block
// that they are asked about, and members of the policy, but move no memory.
#pragma once

#include "block.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace replay {

/// The device and its process, at the time of a decision.
struct machine {
    std::uint64_t now = 0;                   ///< in microseconds
    std::uint64_t pages = 0, free_pages = 0; ///< of device memory
    std::uint32_t shortages = 0;             ///< how often memory ran short
    std::uint64_t evicted = 0;               ///< pages that were evicted so far
    std::uint64_t lapse = 0;                 ///< see hmmrt_policy_lapse()
    std::uint64_t aged_since = 0;            ///< all use of device memory before that is known
    const std::vector<chunk>* chunks = nullptr;
    hmmrt_knobs knobs = {};

    hmmrt_policy_pace pace() const { return {&knobs, now, lapse}; }
};

/// The device accessed a page without an entry.
struct fault {
    block& at;
    const machine& on;
    unsigned page = 0; ///< in the block
    bool write = false;
    unsigned before = 0, after = 0; ///< pages mapped of the neighbouring blocks
    bool thrashes = false;          ///< the answer of thrash()
};

/// The device was asked which pages it used of a block that stays in system memory.
struct look {
    block& at;
    const machine& on;
    unsigned remote = 0;           ///< pages mapped there
    std::uint64_t victim_used = 0; ///< last known use of the chunk that victim() names
};

enum class residency {
    moves, ///< the pages of the window go to the device
    stays, ///< the device maps them in system memory
};

enum class when_full {
    evicts,     ///< make room for the window, and move it
    stays,      ///< the block stays, is mapped as a whole, and is looked at
    takes_rest, ///< move what fits, and map the rest of the window in system memory
};

enum class verdict {
    waits,      ///< until the next look
    ages,       ///< first find out which device memory was used lately, then look again
    takes_free, ///< move as much as there is free memory
    exchanges,  ///< evict the victim, and move the block
};

struct thrash_answer {
    std::uint64_t nap = 0; ///< the lane sleeps for that many microseconds, and is served then
    bool stays = false;    ///< the block stays in system memory for a while
};

class policy {
  public:
    policy() = default;
    policy(const policy&) = delete;
    policy& operator=(const policy&) = delete;
    virtual ~policy() = default;

    /// Which pages does a fault map, and move if it moves any?
    virtual hmmrt_policy_window window(const fault& of);
    /// Does the touched memory move? Asked whether or not memory is free.
    virtual residency resides(const fault& of);
    /// It should move, but too little memory is free.
    virtual when_full full(const fault& of);
    /// Which chunk is evicted? Returns one of the candidates, of which there is one at least. Also
    /// asked for each look, and then nothing may be evicted.
    virtual int victim(const machine& on, std::span<const int> candidates);
    /// Does a block that stays move? hmmrt_policy_bypass_look() sets the time of the next look.
    virtual verdict exchange(const look& at);
    /// Does memory go back and forth? A block stays as long as the `pinned_until` of its refaults
    /// or thrashing says.
    virtual thrash_answer thrash(const fault& of);
};

struct policy_entry {
    std::string_view name, description;
    /// @seed is for policies with random numbers.
    std::unique_ptr<policy> (*make)(std::uint64_t seed);
};

/// All policies, the kernel's first. policies.cpp lists them.
std::span<const policy_entry> policies();
/// Returns nullptr if there is no policy of that name.
const policy_entry* find_policy(std::string_view name);

} // namespace replay
