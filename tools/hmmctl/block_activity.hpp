// SPDX-License-Identifier: MIT
// The activity of each 2 MiB block, as the rules for advice need it.
#pragma once

#include "space_memory.hpp"

#include <linux/hmmrt_event.h>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

namespace hmmctl {

constexpr std::uint64_t block_bytes = 2u << 20;
constexpr std::size_t block_pages = block_bytes / page_bytes;
/// Minimum number of faults in a run. Even in random order, half of all faults are above the
/// previous one.
constexpr std::size_t least_run = 3;

using page_set = std::bitset<block_pages>;

/// What one processor (a device or the CPU) did with a block.
struct processor_activity {
    std::uint64_t faults = 0;           ///< served faults
    std::uint64_t first_faults = 0;     ///< of a device: before the block first left it
    std::uint64_t writes = 0;           ///< faults that were writes
    std::uint64_t sequential = 0;       ///< faults in a run of least_run rising addresses
    std::uint64_t nanoseconds = 0;      ///< of faults
    std::uint64_t copy_nanoseconds = 0; ///< the part that copied or cleared pages
    std::uint64_t pages_in = 0;         ///< number of pages that migrated to it
    std::uint64_t returns = 0;          ///< how often it faulted after an eviction from it
    page_set touched;                   ///< pages that it faulted on
    page_set moved;                     ///< pages that migrated to it
    bool left = false, evicted = false;
};

struct block_key {
    std::uint64_t space = 0, addr = 0;
    bool operator==(const block_key&) const = default;
    friend bool operator<(const block_key& a, const block_key& b) {
        return std::tie(a.space, a.addr) < std::tie(b.space, b.addr);
    }
};

/// Returns the address of the block.
constexpr std::uint64_t block_of(std::uint64_t addr) {
    return addr & ~(block_bytes - 1);
}

/// Takes the part of an event in one block: the first page within the block, and how many.
using part_function = std::function<void(block_key, std::size_t first, std::size_t pages)>;

/// Splits an event's pages by block.
void for_each_block(const hmmrt_event& event, const part_function& body);

struct block_activity {
    /// By device id; HMMRT_LOCATION_HOST is the CPU.
    std::map<std::uint32_t, processor_activity> processors;
    std::uint64_t turns = 0;  ///< faults that followed a fault of another processor
    std::uint64_t advice = 0; ///< a bit for each enum hmmrt_advice_kind in effect
    /// Faults of devices and of the CPU by instruction, for a limited number of instructions.
    std::map<std::uint64_t, std::uint64_t> code, cpu_code;
    std::uint32_t last = HMMRT_LOCATION_NONE; ///< the processor that faulted last

    /// @kind: enum hmmrt_advice_kind.
    void advise(std::uint16_t kind);
    /// Returns nullptr if the processor did nothing here.
    const processor_activity* of(std::uint32_t processor) const;
};

class activity {
  public:
    using blocks = std::map<block_key, block_activity>;

    void add(const hmmrt_event& event);
    const blocks& by_block() const { return blocks_; }

  private:
    /// The most recent faults of a thread, on a device or on the CPU, with rising addresses.
    struct sweep {
        std::array<std::uint64_t, least_run> last = {}; ///< fault N is at index N % least_run
        std::size_t length = 0;
    };
    using sweep_key = std::tuple<std::uint64_t, std::uint32_t, std::int32_t>;

    struct advised {
        std::uint64_t space, begin, end;
        std::uint16_t kind;
    };

    block_activity& block_at(block_key key);
    void add_fault(const hmmrt_event& event, std::uint32_t processor);
    void add_migration(const hmmrt_event& event);
    void add_advice(const hmmrt_event& event);
    void follow(const hmmrt_event& event, std::uint32_t processor);

    blocks blocks_;
    std::map<sweep_key, sweep> sweeps_;
    std::vector<advised> advised_; ///< in the order of the events
};

} // namespace hmmctl
