// SPDX-License-Identifier: MIT
// Continues a prefetch that a signal interrupted.
#pragma once

#include "control.h"

#include <cstdint>
#include <linux/hmmrt.h>

namespace hmmrt {

/// Number of pages that a prefetch has processed, whatever the result.
inline std::uint64_t prefetched_pages(const hmmrt_prefetch& done) {
    std::uint64_t pages = done.out_pages_moved + done.out_pages_there;
    for (const auto stayed : done.out_stayed)
        pages += stayed;
    return pages;
}

/// Turns an interrupted prefetch into one of the remaining pages, with its
/// counts starting anew. Returns false if no pages remain.
inline bool prefetch_rest(hmmrt_prefetch& interrupted) {
    const std::uint64_t pages = prefetched_pages(interrupted);
    interrupted.addr += pages * page_size;
    interrupted.len -= pages * page_size;
    if (interrupted.outcomes != 0) interrupted.outcomes += pages;
    interrupted.done = 0;
    return interrupted.len != 0;
}

} // namespace hmmrt
