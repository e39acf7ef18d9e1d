// SPDX-License-Identifier: MIT
/*
 * Pages of the address space, kept as ranges that are never joined: who adds them cuts
 * them where they may have to come apart, so that taking pages out needs no memory.
 */
#pragma once

#include "own_memory.hpp"

#include <cstdint>
#include <map>

namespace hmmrt {

class page_set {
  public:
    /// Pages that are not in it yet. Throws std::bad_alloc.
    void add(std::uint64_t begin, std::uint64_t end) { ranges_.emplace(begin, end); }
    /// No range goes on across @at. Throws std::bad_alloc, and then nothing has changed.
    void cut(std::uint64_t at) {
        const auto next = ranges_.lower_bound(at);
        if (next == ranges_.begin()) return;
        const auto before = std::prev(next);
        if (before->second <= at) return;
        ranges_.emplace_hint(next, at, before->second);
        before->second = at;
    }
    /// Takes all of @other, which has none of the same pages.
    void merge(page_set& other) noexcept { ranges_.merge(other.ranges_); }
    /// Takes these pages out, and calls gap(begin, end) for those that are not in it. No range
    /// goes on across @begin or @end.
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
    std::pmr::map<std::uint64_t, std::uint64_t> ranges_{own_pool()}; ///< end by begin
};

} // namespace hmmrt
