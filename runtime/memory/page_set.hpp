// SPDX-License-Identifier: MIT
/*
 * A set of pages, stored as ranges that are never merged. The caller splits
 * ranges in advance where they may have to be split, so that removing pages
 * doesn't allocate.
 */
#pragma once

#include "base/own_memory.hpp"

#include <cstdint>
#include <iterator>
#include <map>

namespace hmmrt {

class page_set {
  public:
    /// Adds pages that aren't in the set. Throws std::bad_alloc.
    void add(std::uint64_t begin, std::uint64_t end) { ranges_.emplace(begin, end); }
    /// Splits the range that contains @at. If it throws std::bad_alloc, the set
    /// is unchanged.
    void cut(std::uint64_t at) {
        const auto next = ranges_.lower_bound(at);
        if (next == ranges_.begin()) return;
        const auto before = std::prev(next);
        if (before->second <= at) return;
        ranges_.emplace_hint(next, at, before->second);
        before->second = at;
    }
    /// Moves all ranges of @other into this set. The sets must be disjoint.
    void merge(page_set& other) noexcept { ranges_.merge(other.ranges_); }
    /// Removes pages, and calls gap(begin, end) for those that aren't in the
    /// set. No range may cross @begin or @end.
    template <class Gap>
    void remove(std::uint64_t begin, std::uint64_t end, Gap gap) noexcept {
        auto at = ranges_.lower_bound(begin);
        while (at != ranges_.end() && at->first < end) {
            if (begin < at->first) gap(begin, at->first);
            begin = at->second;
            at = ranges_.erase(at);
        }
        if (begin < end) gap(begin, end);
    }

  private:
    /// maps begin to end
    std::pmr::map<std::uint64_t, std::uint64_t> ranges_{own_pool()};
};

} // namespace hmmrt
