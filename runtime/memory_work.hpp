// SPDX-License-Identifier: MIT
// Work that migrates or discards the memory of a range, to be queued in a
// stream. Each function throws failure for a range that cannot exist.
#pragma once

#include "memory_range.hpp"

namespace hmmrt {

inline work_request prefetch_of(const void* ptr, std::size_t bytes, std::uint32_t location) {
    require(ptr != nullptr, "memory is NULL");
    const page_range pages = pages_around(ptr, bytes);
    work_request request;
    request.kind = entry_kind::prefetch;
    request.prefetch = {pages.addr, pages.len, location};
    return request;
}

/// Queues a prefetch, which counts as the last one of its pages from now on.
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
