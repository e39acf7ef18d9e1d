// SPDX-License-Identifier: MIT
// Annotations that programs make: names of memory, and sections, with the faults of each.
#pragma once

#include "address_map.hpp"
#include "allocations.hpp"

#include <linux/hmmrt_event.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace hmmctl {

/// How often something was touched.
struct touches {
    std::uint64_t device_faults = 0, cpu_faults = 0, nanoseconds = 0;

    bool operator==(const touches&) const = default;
};

/// Returns at most @number entries, those with the most faults first and equal ones by key.
template <class Key>
std::vector<std::pair<Key, touches>> hottest(const std::map<Key, touches>& all,
                                             std::size_t number) {
    std::vector<std::pair<Key, touches>> sorted(all.begin(), all.end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
        return a.second.device_faults + a.second.cpu_faults >
               b.second.device_faults + b.second.cpu_faults;
    });
    if (sorted.size() > number) sorted.resize(number);
    return sorted;
}

/// Returns an event's text. It comes from the process, so it may be any bytes.
std::string text_of(const hmmrt_event& event);

/// The current names of memory, in all spaces.
class memory_names {
  public:
    /// @event: HMMRT_EVENT_NAME. It replaces the range's previous names.
    void add(const hmmrt_event& event, std::uint32_t page_size);
    /// Returns "" for an address without a name.
    std::string at(std::uint64_t space, std::uint64_t addr) const;

  private:
    std::map<std::uint64_t, address_map<std::string>> spaces_;
    std::uint32_t page_size_ = 4096;
};

/// A process and one of its texts.
struct annotation_key {
    std::uint64_t space = 0;
    std::string text;

    friend bool operator<(const annotation_key& a, const annotation_key& b) {
        return std::pair(a.space, a.text) < std::pair(b.space, b.text);
    }
    bool operator==(const annotation_key&) const = default;
};

/// All sections of a process with the same text.
struct section_sums {
    std::uint64_t count = 0, nanoseconds = 0;
    std::uint64_t device_faults = 0; ///< of all lanes of the process while a section lasted

    bool operator==(const section_sums&) const = default;
};

/// Memory that was allocated by the same calls.
struct stack_key {
    std::uint64_t space = 0;
    stack_id stack = 0;

    friend bool operator<(const stack_key& a, const stack_key& b) {
        return std::pair(a.space, a.stack) < std::pair(b.space, b.stack);
    }
    bool operator==(const stack_key&) const = default;
};

/// What we know about a process's memory.
struct known_memory {
    std::string name;       ///< "" if it has none
    stack_id allocated = 0; ///< the calls that allocated it

    bool is_known() const { return !name.empty() || allocated != 0; }
    friend bool operator<(const known_memory& a, const known_memory& b) {
        return std::tie(a.name, a.allocated) < std::tie(b.name, b.allocated);
    }
    bool operator==(const known_memory&) const = default;
};

class annotation_summary {
  public:
    /// Add records before later events, so that events find the allocations that they are about.
    void add(std::span<const allocation_record> records) { allocations_.add(records); }
    void add(const hmmrt_event& event, std::uint32_t page_size);

    /// Returns at most @number names, those with the most faults first.
    std::vector<std::pair<annotation_key, touches>> hottest_names(std::size_t number) const;
    /// Likewise for call stacks that allocated memory.
    std::vector<std::pair<stack_key, touches>> hottest_stacks(std::size_t number) const;
    const allocation_history& allocations() const { return allocations_; }
    /// Returns the memory that most of an instruction's faults accessed, as far as it is known.
    known_memory memory_of_code(std::uint64_t space, std::uint64_t ip) const;
    /// Returns the memory that most faults accessed in the 2 MiB blocks of this range.
    known_memory memory_of_blocks(std::uint64_t space, std::uint64_t addr,
                                  std::uint64_t bytes) const;
    /// Returns at most @number sections, those with the most time first.
    std::vector<std::pair<annotation_key, section_sums>> longest_sections(std::size_t number) const;

  private:
    struct section {
        std::uint64_t begin, end; ///< nanoseconds of CLOCK_MONOTONIC
    };

    /// Number of faults by memory.
    using of_memory = std::map<known_memory, std::uint64_t>;

    void add_fault(const hmmrt_event& event, std::uint32_t page_size);

    memory_names names_;
    allocation_history allocations_;
    std::map<annotation_key, touches> touched_;
    std::map<stack_key, touches> touched_stacks_;
    /// By space, and by instruction or block.
    std::map<std::pair<std::uint64_t, std::uint64_t>, of_memory> code_, blocks_;
    std::map<annotation_key, std::vector<section>> sections_;
    std::map<std::uint64_t, std::vector<std::uint64_t>> fault_times_; ///< by space
};

} // namespace hmmctl
