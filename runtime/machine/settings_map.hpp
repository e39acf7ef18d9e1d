// SPDX-License-Identifier: MIT
// The per-address settings that the cpu device remembers: advice, the last
// prefetch and knobs.
#pragma once

#include "base/own_memory.hpp"

#include <linux/hmmrt.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <map>

namespace hmmrt {

/// The value of each knob plus one; 0 if not set.
using knob_values = std::array<std::uint32_t, HMMRT_KNOBS>;

/// The settings of one page.
struct page_settings {
    std::uint32_t flags = 0; ///< HMMRT_RANGE_*
    std::uint32_t accessed_by = 0;
    std::uint32_t preferred = HMMRT_LOCATION_NONE;
    std::uint32_t last_prefetch = HMMRT_LOCATION_NONE;
    std::uint64_t granularity = 0;
    knob_values knobs = {};

    bool operator==(const page_settings&) const = default;
};

/// Maps addresses to settings. Does no locking.
class settings_map {
  public:
    /// Calls change(settings) for all settings of the range. May throw
    /// std::bad_alloc, but only before the first change.
    template <class Change>
    void change(std::uint64_t begin, std::uint64_t end, Change change) {
        split(begin);
        split(end);
        const auto last = table_.find(end);
        for (auto at = table_.find(begin); at != last; ++at)
            change(at->second);
        join(begin, end);
    }

    /// As change(), for all addresses, but never throws.
    template <class Change>
    void change_all(Change change) {
        for (auto& [address, settings] : table_)
            change(settings);
        join(0, ~std::uint64_t{0});
    }

    /// Calls visit(settings) for all settings of the range.
    template <class Visit>
    void visit(std::uint64_t begin, std::uint64_t end, Visit visit) const {
        for (auto at = holding(begin); at != table_.end() && at->first < end; ++at)
            visit(at->second);
    }

    const page_settings& at(std::uint64_t address) const { return holding(address)->second; }

  private:
    using table = std::pmr::map<std::uint64_t, page_settings>;

    table::const_iterator holding(std::uint64_t address) const {
        return std::prev(table_.upper_bound(address));
    }

    void split(std::uint64_t address) { table_.emplace(address, at(address)); }

    /// Merges equal neighbours.
    void join(std::uint64_t begin, std::uint64_t end) {
        auto at = table_.find(begin);
        if (at != table_.begin()) --at;
        while (at != table_.end() && at->first <= end) {
            const auto next = std::next(at);
            if (next != table_.end() && next->second == at->second)
                table_.erase(next);
            else
                at = next;
        }
    }

    /// Each element is valid from its address to the next one's.
    table table_{std::initializer_list<table::value_type>{{0, page_settings{}}}, own_pool()};
};

} // namespace hmmrt
