// SPDX-License-Identifier: MIT
/*
 * Replaces the modules' knowledge of a program's memory: the location, advice and locks of each
 * page. Everything is mapped except for one hole. A page is in system memory until it is
 * prefetched.
 */
#pragma once

#include <linux/hmmrt.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace fakes {

struct prefetch_call {
    std::uint64_t addr;
    std::uint64_t len;
    std::uint32_t location;
    bool operator==(const prefetch_call&) const = default;
};

struct discard_call {
    std::uint64_t addr;
    std::uint64_t len;
    bool operator==(const discard_call&) const = default;
};

inline std::ostream& operator<<(std::ostream& to, const discard_call& one) {
    return to << std::hex << one.addr << " + " << one.len << std::dec;
}

inline std::ostream& operator<<(std::ostream& to, const prefetch_call& one) {
    return to << discard_call{one.addr, one.len} << " to " << one.location;
}

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
    static constexpr std::uint64_t hole = 0x700000000000; ///< the start of a block without mappings
    static constexpr std::uint64_t hole_end = hole + (2 << 20);
    static constexpr std::uint64_t lock_limit = 64 << 10;

    /// Returns 0 or -errno; -ENOTTY for requests that are not about memory.
    int ioctl(unsigned long request, void* argument);
    int discard(std::uint64_t addr, std::uint64_t len);
    int lock(std::uint64_t addr, std::uint64_t len);
    int lock_on_fault(std::uint64_t addr, std::uint64_t len);
    bool has_locked(std::uint64_t addr, std::uint64_t len);
    int unlock(std::uint64_t addr, std::uint64_t len);
    static bool is_mapped(std::uint64_t addr, std::uint64_t len);
    /// In the format of /proc/self/maps.
    std::string maps();
    void clear();

    // Set by tests.
    std::size_t interrupt_after = 0; ///< pages that a prefetch moves before a signal
    int lock_error = 0;              ///< the limit of locked memory is reached
    int populate_error = 0;          ///< not enough memory
    int prefetch_error = 0;          ///< the device is gone
    bool peers_possible = true;
    std::function<void()> while_prefetching;
    std::function<void()> while_locking;            ///< while pages to lock are populated
    std::map<std::uint64_t, enum hmmrt_stay> stays; ///< pages that do not move

    // Read by tests.
    std::vector<prefetch_call> prefetches;
    std::vector<discard_call> discards;
    std::string order;              ///< a letter for each call: p or d
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
