// SPDX-License-Identifier: MIT
// Which calls of a program allocated the memory at an address.
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

/// Addresses in calls, the innermost first, 0 behind the last one.
using call_stack = std::array<std::uint64_t, allocation_frames>;

/// The number of a call stack. 0 is none.
using stack_id = std::uint32_t;

/// Allocations of one process with the same stack.
struct allocation_sums {
    std::uint64_t count = 0, bytes = 0;
    bool operator==(const allocation_sums&) const = default;
};

/// Programs decide how many different stacks there are. Further ones are none.
constexpr std::size_t most_stacks = 1u << 16;

class allocation_history {
  public:
    /// Takes records in the order of their ring.
    void add(std::span<const allocation_record> records);
    /// Lets happen what is not later than that moment of CLOCK_MONOTONIC.
    void advance(std::uint64_t time);

    /// Returns the calls that made the innermost allocation there is now.
    stack_id at(pid_t pid, std::uint64_t addr, std::uint32_t page_size) const;
    /// @id: not 0.
    const call_stack& stack_of(stack_id id) const { return stacks_[id - 1]; }
    /// Includes memory that the process has from its parent.
    allocation_sums sums_of(pid_t pid, stack_id id) const;

  private:
    struct memory {
        address_map<stack_id> blocks, mappings; ///< blocks lie in mappings, if these are known
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
