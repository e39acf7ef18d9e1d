// SPDX-License-Identifier: MIT
// Tracks which calls of a program allocated the memory at an address.
#pragma once

#include "address_map.hpp"

#include <allocation_ring.hpp>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace hmmctl {

/// Addresses in calls, innermost first, padded with 0.
using call_stack = std::array<std::uint64_t, allocation_frames>;

/// The number of a call stack, 0 for none.
using stack_id = std::uint32_t;

/// Allocations of one process with the same stack.
struct allocation_sums {
    std::uint64_t count = 0, bytes = 0;
    bool operator==(const allocation_sums&) const = default;
};

/// Bounds our memory, as programs decide how many different stacks there are. Further stacks get
/// id 0.
constexpr std::size_t most_stacks = 1u << 16;

class allocation_history {
  public:
    /// Queues records, in the order of their ring.
    void add(std::span<const allocation_record> records);
    /// Applies the queued records up to and including this time of CLOCK_MONOTONIC.
    void advance(std::uint64_t time);

    /// Returns the calls that allocated the memory at an address, 0 if unknown. A heap block takes
    /// precedence over the mapping that contains it.
    stack_id at(pid_t pid, std::uint64_t addr, std::uint32_t page_size) const;
    /// @id must not be 0.
    const call_stack& stack_of(stack_id id) const { return stacks_[id - 1]; }
    /// Includes memory that the process inherited from its parent.
    allocation_sums sums_of(pid_t pid, stack_id id) const;

  private:
    struct memory {
        address_map<stack_id> blocks, mappings; ///< blocks are inside mappings, if these are known
    };

    void apply(const allocation_record& record);
    void fork(pid_t parent, pid_t child);
    stack_id id_of(const allocation_record& record);
    void count(pid_t pid, stack_id id, std::uint64_t bytes);

    std::deque<allocation_record> pending_;
    std::map<pid_t, memory> processes_;
    std::map<std::pair<pid_t, stack_id>, allocation_sums> sums_;
    std::map<call_stack, stack_id> ids_;
    std::vector<call_stack> stacks_;
};

} // namespace hmmctl
