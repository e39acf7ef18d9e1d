// SPDX-License-Identifier: MIT
// Creates requests to migrate or discard the memory of a range, for streams.
// Each function throws failure for an impossible range.
#pragma once

#include "api/interface.hpp"
#include "base/memory_range.hpp"

namespace hmmrt {

inline work_request prefetch_of(const void* ptr, std::size_t bytes, std::uint32_t location) {
    require(ptr != nullptr, "memory is NULL");
    const page_range pages = pages_around(ptr, bytes);
    work_request request;
    request.kind = entry_kind::prefetch;
    request.prefetch = {pages.addr, pages.len, location};
    return request;
}

/// Queues a prefetch. From now on it counts as the last prefetch of its pages.
inline void launch_prefetch(stream_user& where, work_request prefetch) {
    const prefetch_work& work = prefetch.prefetch;
    queued_prefetches::entries fresh(own_pool());
    prefetch.records = make_own_shared<event_point>();
    fresh.push_back({{work.addr, work.addr + work.len, work.location}, prefetch.records});
    where.launch(prefetch);
    process::get().prefetches().add(fresh);
}

/// The length of the work may be 0.
inline work_request discard_of(const void* ptr, std::size_t bytes) {
    require(ptr != nullptr, "memory is NULL");
    const page_range pages = pages_inside(ptr, bytes);
    work_request request;
    request.kind = entry_kind::discard;
    request.discard = {pages.addr, pages.len};
    return request;
}

} // namespace hmmrt
