// SPDX-License-Identifier: MIT
// Work that migrates or discards the memory of a range, to be queued in a
// stream. Each function throws failure for a range that cannot exist.
#pragma once

#include "memory_range.hpp"

namespace hmmrt {

inline work_request prefetch_of(const void* ptr, std::size_t bytes, std::uint32_t location) {
    const page_range pages = pages_around(ptr, bytes);
    work_request request;
    request.kind = entry_kind::prefetch;
    request.prefetch = {pages.addr, pages.len, location};
    return request;
}

/// The length of the work may be 0.
inline work_request discard_of(const void* ptr, std::size_t bytes) {
    const page_range pages = pages_inside(ptr, bytes);
    work_request request;
    request.kind = entry_kind::discard;
    request.discard = {pages.addr, pages.len};
    return request;
}

} // namespace hmmrt
