// SPDX-License-Identifier: MIT
/*
 * Prefetches that are queued in streams.
 *
 * The last prefetch of a page is the one that was requested last. The kernel
 * learns of a prefetch when it runs, so until then this list knows it. A
 * prefetch that is done stays in the list as long as an older one is not, up to
 * a bound: what the older one will tell the kernel is not the answer.
 */
#pragma once

#include "own_memory.hpp"
#include "session.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <vector>

namespace hmmrt {

/// Pages, and where their last requested prefetch goes.
struct requested_prefetch {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint32_t location;
};

using prefetch_parts = std::pmr::vector<requested_prefetch>;

class queued_prefetches {
  public:
    struct entry : requested_prefetch {
        /// recorded when it was queued; NULL: it was not queued, and is done
        std::shared_ptr<event_point> done;
    };
    using entries = std::pmr::list<entry>;

    /// Takes the entries of @fresh, which uses own_pool().
    void add(entries& fresh) noexcept;
    /// Cuts [begin, end) into parts in the order of their requests: those of
    /// queued prefetches first, and then those of which the kernel knows, with
    /// HMMRT_LOCATION_NONE. Throws std::bad_alloc.
    prefetch_parts parts_of(std::uint64_t begin, std::uint64_t end);
    /// Keeps no session that has ended.
    void forget_done() noexcept;

  private:
    void trim() noexcept;

    std::mutex lock_;
    entries entries_{own_pool()}; ///< in the order of the requests
};

} // namespace hmmrt
