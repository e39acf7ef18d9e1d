// SPDX-License-Identifier: MIT
// Maps ranges of addresses to values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace hmmctl {

/// Ranges don't overlap: assigning a range replaces the parts of others that it covers.
template <class Value>
class address_map {
  public:
    struct range {
        std::uint64_t end; ///< exclusive
        Value value;
    };

    void assign(std::uint64_t begin, std::uint64_t end, Value value) {
        erase(begin, end);
        if (begin < end) ranges_.insert({begin, {end, std::move(value)}});
    }
    void erase(std::uint64_t begin, std::uint64_t end) {
        if (end <= begin) return;
        auto next = ranges_.lower_bound(begin);
        if (next != ranges_.begin()) {
            range& before = std::prev(next)->second;
            if (before.end > end) next = ranges_.insert(next, {end, before});
            before.end = std::min(before.end, begin);
        }
        while (next != ranges_.end() && next->first < end) {
            const range covered = next->second;
            next = ranges_.erase(next);
            if (covered.end > end) next = ranges_.insert(next, {end, covered});
        }
    }
    void erase_that_begins_at(std::uint64_t begin) { ranges_.erase(begin); }
    void clear() { ranges_.clear(); }

    /// Returns nullptr if no range contains the address.
    const Value* at(std::uint64_t addr) const {
        const auto after = ranges_.upper_bound(addr);
        if (after == ranges_.begin() || addr >= std::prev(after)->second.end) return nullptr;
        return &std::prev(after)->second.value;
    }
    /// Like at(). But if @addr is a page's address and no range contains it, returns the first
    /// value in that page: the kernel reports CPU faults by page, and memory may begin within one.
    const Value* at_or_in_page(std::uint64_t addr, std::uint32_t page_size) const {
        if (const Value* const found = at(addr)) return found;
        const auto after = ranges_.upper_bound(addr);
        const bool in_page =
            addr % page_size == 0 && after != ranges_.end() && after->first - addr < page_size;
        return in_page ? &after->second.value : nullptr;
    }
    /// Keyed by first address.
    const std::map<std::uint64_t, range>& all() const { return ranges_; }

  private:
    std::map<std::uint64_t, range> ranges_;
};

} // namespace hmmctl
