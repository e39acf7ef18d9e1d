// SPDX-License-Identifier: MIT
/*
 * Prefetches that are queued in streams.
 *
 * A page's last prefetch is the one that was requested last. The kernel only
 * learns of a prefetch when it runs, so we record it here until then. A
 * completed prefetch stays in the list while an older one is still queued, up
 * to a bound: the older one would overwrite the kernel's answer.
 */
#pragma once

#include "base/own_memory.hpp"
#include "session/session.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <vector>

namespace hmmrt {

/// Pages, and the destination of their last requested prefetch.
struct requested_prefetch {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint32_t location;
};

using prefetch_parts = std::pmr::vector<requested_prefetch>;

class queued_prefetches {
  public:
    struct entry : requested_prefetch {
        /// its position in a queue; NULL if it ran without being queued
        std::shared_ptr<event_point> done;
    };
    using entries = std::pmr::list<entry>;

    /// Moves the entries out of @fresh, which uses own_pool().
    void add(entries& fresh) noexcept;
    /// Splits [begin, end) into parts by their last prefetch: first those of
    /// queued prefetches, newest first, and then those that only the kernel
    /// knows, with HMMRT_LOCATION_NONE. Throws std::bad_alloc.
    prefetch_parts parts_of(std::uint64_t begin, std::uint64_t end);
    /// Drops references to sessions that have ended.
    void forget_done() noexcept;

  private:
    void trim() noexcept;

    std::mutex lock_;
    entries entries_{own_pool()}; ///< in the order of the requests
};

} // namespace hmmrt
