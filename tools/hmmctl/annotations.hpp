// SPDX-License-Identifier: MIT
// What programs say about themselves: names of memory, and sections, with the faults of each.
#pragma once

#include "touches.hpp"

#include <linux/hmmrt_event.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hmmctl {

/// Returns the text of an event; the process may have written any bytes.
std::string text_of(const hmmrt_event& event);

/// The names that the memory of all spaces has now.
class memory_names {
  public:
    /// @event: HMMRT_EVENT_NAME. It replaces what names the range has.
    void add(const hmmrt_event& event, std::uint32_t page_size);
    /// Returns an empty text for an address without a name.
    std::string at(std::uint64_t space, std::uint64_t addr) const;

  private:
    struct named {
        std::uint64_t end;
        std::string name;
    };
    using of_space = std::map<std::uint64_t, named>; ///< by first address, without overlaps

    std::map<std::uint64_t, of_space> spaces_;
    std::uint32_t page_size_ = 4096;
};

/// A text of a process.
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
    std::uint64_t device_faults = 0; ///< of all lanes of the process, from begin to end

    bool operator==(const section_sums&) const = default;
};

class annotation_summary {
  public:
    void add(const hmmrt_event& event, std::uint32_t page_size);

    /// Returns the names with the most faults, the first of these first, at most @number.
    std::vector<std::pair<annotation_key, touches>> hottest_names(std::size_t number) const;
    /// Returns the name that most device faults of an instruction were about, or an empty text.
    std::string name_of_code(std::uint64_t space, std::uint64_t ip) const;
    /// Returns the sections with the most time, at most @number.
    std::vector<std::pair<annotation_key, section_sums>> longest_sections(std::size_t number) const;

  private:
    struct section {
        std::uint64_t begin, end; ///< nanoseconds of CLOCK_MONOTONIC
    };

    void add_fault(const hmmrt_event& event);

    memory_names names_;
    std::map<annotation_key, touches> touched_;
    /// By space and instruction: device faults by name.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::map<std::string, std::uint64_t>> code_;
    std::map<annotation_key, std::vector<section>> sections_;
    std::map<std::uint64_t, std::vector<std::uint64_t>> fault_times_; ///< by space
};

} // namespace hmmctl
