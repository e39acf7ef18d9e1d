// SPDX-License-Identifier: MIT
// Pages of the address space, kept as ranges.
#pragma once

#include "own_memory.hpp"

#include <cstdint>
#include <map>

namespace hmmrt {

class page_set {
  public:
    /// Pages that are not in it yet.
    void add(std::uint64_t begin, std::uint64_t end) {
        const auto next = ranges_.lower_bound(begin);
        if (next != ranges_.begin() && std::prev(next)->second == begin)
            std::prev(next)->second = end;
        else
            ranges_.emplace_hint(next, begin, end);
    }
    /// Takes these pages out, and calls gap(begin, end) for those that are not in it.
    /// Throws std::bad_alloc before anything has changed.
    template <class Gap>
    void remove(std::uint64_t begin, std::uint64_t end, Gap gap) {
        split(begin);
        split(end);
        auto at = ranges_.lower_bound(begin);
        while (at != ranges_.end() && at->first < end) {
            if (begin < at->first) gap(begin, at->first);
            begin = at->second;
            at = ranges_.erase(at);
        }
        if (begin < end) gap(begin, end);
    }

  private:
    /// No range goes on across @at.
    void split(std::uint64_t at) {
        const auto next = ranges_.lower_bound(at);
        if (next == ranges_.begin()) return;
        const auto before = std::prev(next);
        if (before->second <= at) return;
        ranges_.emplace_hint(next, at, before->second);
        before->second = at;
    }

    std::pmr::map<std::uint64_t, std::uint64_t> ranges_{own_pool()}; ///< end by begin
};

} // namespace hmmrt
