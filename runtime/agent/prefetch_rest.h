// SPDX-License-Identifier: MIT
// What is left of a prefetch that a signal ended.
#pragma once

#include "control.h"

#include <cstdint>
#include <linux/hmmrt.h>

namespace hmmrt {

/// How many pages a prefetch got to, whatever became of them.
inline std::uint64_t prefetched_pages(const hmmrt_prefetch& done) {
    std::uint64_t pages = done.out_pages_moved + done.out_pages_there;
    for (const auto stayed : done.out_stayed)
        pages += stayed;
    return pages;
}

/// Turns a prefetch that was interrupted into one of the pages behind those that it got
/// to. False if there are none.
inline bool prefetch_rest(hmmrt_prefetch& interrupted) {
    const std::uint64_t pages = prefetched_pages(interrupted);
    interrupted.addr += pages * page_size;
    interrupted.len -= pages * page_size;
    if (interrupted.outcomes != 0) interrupted.outcomes += pages;
    return interrupted.len != 0;
}

} // namespace hmmrt
