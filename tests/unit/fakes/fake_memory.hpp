// SPDX-License-Identifier: MIT
/*
 * Stands in for what the modules know about the memory of a program: places, advice and
 * locks, page by page. Everything is mapped, but for one hole; a page is in system
 * memory until it is prefetched.
 */
#pragma once

#include <linux/hmmrt.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace fakes {

struct prefetch_call {
    std::uint64_t addr;
    std::uint64_t len;
    std::uint32_t location;
};

struct discard_call {
    std::uint64_t addr;
    std::uint64_t len;
};

struct fake_page {
    std::uint32_t location = HMMRT_LOCATION_HOST;
    std::uint32_t flags = 0; ///< HMMRT_RANGE_*
    std::uint32_t accessed_by = 0;
    std::uint32_t preferred = HMMRT_LOCATION_NONE;
    std::uint32_t last_prefetch = HMMRT_LOCATION_NONE;
    std::uint64_t granularity = 0;
};

class fake_memory {
  public:
    static constexpr std::uint64_t hole = 0x700000000000; ///< with its block
    static constexpr std::uint64_t hole_end = hole + (2 << 20);
    static constexpr std::uint64_t lock_limit = 64 << 10;

    /// 0 or -errno; -ENOTTY for what is not about memory.
    int ioctl(unsigned long request, void* argument);
    int discard(std::uint64_t addr, std::uint64_t len);
    int lock(std::uint64_t addr, std::uint64_t len);
    int lock_on_fault(std::uint64_t addr, std::uint64_t len);
    bool has_locked(std::uint64_t addr, std::uint64_t len);
    int unlock(std::uint64_t addr, std::uint64_t len);
    static bool is_mapped(std::uint64_t addr, std::uint64_t len);
    /// As /proc/self/maps.
    std::string maps();
    void clear();

    // Set by tests.
    std::size_t interrupt_after = 0; ///< pages that a prefetch does before a signal comes
    int lock_error = 0;              ///< what is to be locked is too much
    int populate_error = 0;          ///< there is not that much memory
    bool peers_possible = true;
    std::function<void()> while_prefetching;
    std::function<void()> while_locking;            ///< what is to be locked is brought into memory
    std::map<std::uint64_t, enum hmmrt_stay> stays; ///< pages that do not move

    // Looked at by tests.
    std::vector<prefetch_call> prefetches;
    std::vector<discard_call> discards;
    std::string order;              ///< a letter for each of both: p or d
    std::set<std::uint64_t> locked; ///< pages
    int lock_questions = 0;

  private:
    int prefetch(hmmrt_prefetch& request);
    int residency(hmmrt_residency& request);
    int advise(const hmmrt_advise& request);
    int range_attributes(hmmrt_range_attributes& request);
    int pages(hmmrt_pages& request);
    int peer(hmmrt_peer& request);
    std::uint8_t move(std::uint64_t addr, std::uint32_t location);

    std::mutex lock_;
    std::map<std::uint64_t, fake_page> pages_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> peers_;
};

} // namespace fakes
