// SPDX-License-Identifier: MIT
// The plain data about which policies decide: blocks of address space and chunks of device memory.
#pragma once

#include "trace.hpp"

#include <array>
#include <bit>
#include <cstdint>

// The decisions of the kernel module, GPL-2.0-only: so is a program that links them.
extern "C" {
#include "policy.h"
}

namespace replay {

static_assert(block_pages == HMMRT_POLICY_BLOCK_PAGES);

/// With less left, memory is short, see kmod/mem.h.
constexpr unsigned little_pages = block_pages / 4;

/// Traces have no advice.
constexpr hmmrt_advice no_advice = {
    .flags = 0,
    .accessed_by = 0,
    .preferred = HMMRT_LOCATION_NONE,
    .last_prefetch = HMMRT_LOCATION_NONE,
    .granularity = 0,
    .access = 0,
    .knobs = {},
};

/// Pages of a block or chunk.
class page_set {
  public:
    bool has(unsigned page) const { return words_[page / 64] >> page % 64 & 1; }
    void add(unsigned page) { words_[page / 64] |= 1ul << page % 64; }
    void remove(unsigned page) { words_[page / 64] &= ~(1ul << page % 64); }
    void clear() { words_ = {}; }
    unsigned count() const {
        unsigned sum = 0;
        for (const unsigned long word : words_)
            sum += static_cast<unsigned>(std::popcount(word));
        return sum;
    }
    bool is_empty() const { return words_ == decltype(words_){}; }
    page_set operator&(const page_set& other) const {
        page_set result = *this;
        for (std::size_t i = 0; i < words_.size(); i++)
            result.words_[i] &= other.words_[i];
        return result;
    }
    page_set operator-(const page_set& other) const {
        page_set result = *this;
        for (std::size_t i = 0; i < words_.size(); i++)
            result.words_[i] &= ~other.words_[i];
        return result;
    }
    /// As the kernel's functions take it.
    const unsigned long* bits() const { return words_.data(); }

  private:
    std::array<unsigned long, block_pages / 64> words_ = {};
};

/// 2 MiB of address space.
struct block {
    page_set mapped; ///< the device has an entry for the page
    page_set local;  ///< the entry refers to device memory
    page_set used;   ///< the device used it since a look
    unsigned faults = 0;
    /// The state of the kernel's policies.
    hmmrt_policy_refaults refaults = {};
    hmmrt_policy_thrashing thrashing = {};
    hmmrt_policy_bypass bypass = {};
    hmmrt_policy_run run = {};
    /// For policies of your own: the simulator only zeroes it, when memory goes.
    std::uint64_t note = 0;

    page_set remote() const { return mapped - local; }
};

/// 2 MiB of device memory.
struct chunk {
    page_set used;
    std::array<std::uint32_t, block_pages> page = {}; ///< of the trace, that each page holds
    unsigned pages = 0;
    bool reserved = false;   ///< evicted for a fault, which takes it now
    std::uint64_t given = 0; ///< order of the last allocation
    std::uint64_t order = 0; ///< order of the last known use; an allocation is one
    std::uint64_t when = 0;  ///< time of it, in microseconds
    std::uint64_t uses = 0;  ///< how often looks found it used since it was empty
};

} // namespace replay
