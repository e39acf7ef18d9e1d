// SPDX-License-Identifier: MIT
/*
 * Unmapping memory. To unmap part of what the kernel has merged, it needs
 * another mapping, and their number is limited (vm.max_map_count). So it may
 * fail, and succeed later after other mappings have ended.
 */
#pragma once

#include "machine/machine.hpp"
#include "sys/syscalls.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace hmmrt {

/// Unmaps memory that is no longer used. Returns false if that is impossible
/// now: then its pages are freed, and unlocked if possible.
inline bool unmap_allocated(machine& of, std::uint64_t begin, std::size_t bytes) noexcept {
    constexpr int advice_dontneed_locked = 24; // MADV_DONTNEED_LOCKED
    // before unmapping, when another thread could get these addresses
    of.unmapped(begin, bytes);
    if (sys::unmap(begin, bytes) >= 0) return true;
    sys::advise(begin, bytes, advice_dontneed_locked);
    sys::unlock_memory(begin, bytes);
    return false;
}

/// Memory that couldn't be unmapped. Table maps addresses to values.
template <class Table>
class left_mappings {
  public:
    explicit left_mappings(Table&& empty) : table_(std::move(empty)) {}

    void add(typename Table::node_type&& node) noexcept { table_.insert(std::move(node)); }
    bool empty() const noexcept { return table_.empty(); }

    /// Tries again, but stops after several failures. bytes(value) is the size.
    template <class Bytes>
    void retry(Bytes bytes) noexcept {
        constexpr int failures_max = 8;
        auto at = table_.lower_bound(next_);
        if (at == table_.end()) at = table_.begin();
        for (int failures = 0; at != table_.end() && failures < failures_max;) {
            if (sys::unmap(at->first, bytes(at->second)) >= 0) {
                at = table_.erase(at);
            } else {
                failures++;
                ++at;
            }
        }
        next_ = at != table_.end() ? at->first : 0;
    }

  private:
    Table table_;
    std::uint64_t next_ = 0; ///< where the next call begins
};

} // namespace hmmrt
