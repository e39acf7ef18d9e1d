// SPDX-License-Identifier: MIT
// What no policy can beat on a trace: Belady's choice of what to keep, with bypass.
//
// A *visit* is the access of a step to one page. A visit is *saved* if its page is on the device
// since the visit before. A visit that isn't costs a page that moves in, ahead or by a fault, or it
// uses the page in system memory. If the device has C pages, at most C pages are kept at a time, so
// the number of saved visits is at most that of the offline optimum: keep a page from one visit to
// the next, and if more than C are kept, drop the one whose next visit is farthest away. Hence, for
// each policy, whatever its windows are:
//
//   pages in + remote visits >= misses
//
// The cost adds prices. A visit that isn't saved costs at least its surcharge: the price of a page
// in, or what its lines cost more in system memory, whichever is less. The bound of the sum adds up
// bounds of parts: misses among all visits, times the surcharge of one line; misses among visits of
// two lines and more, times what their surcharge is above that of one; and so on for 4, 8, 16, 32
// and 64 lines. Faults, pages out, evictions and looks are left out, and so is that memory moves in
// blocks and chunks. So the bound can be far below the cost of the best policy, but not above it.
#pragma once

#include "prices.hpp"
#include "trace.hpp"

#include <cstdint>

namespace replay {

struct bound {
    std::uint64_t misses = 0;
    double cost = 0;
};

bound bound_of(const trace& of, const prices& costs, std::uint64_t device_bytes);

} // namespace replay
