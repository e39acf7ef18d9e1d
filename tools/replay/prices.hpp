// SPDX-License-Identifier: MIT
// What operations cost. A price is in units of a nanosecond, so the sum is also the time that a
// policy sees: one lane does everything, one operation after another.
#pragma once

#include <span>
#include <string_view>

namespace replay {

struct prices {
    std::string_view name, unit, source;
    double fault;       ///< a device fault, without the pages that move
    double cpu_fault;   ///< likewise
    double page_in;     ///< to the device
    double page_out;    ///< to system memory
    double eviction;    ///< of a chunk, without its pages
    double remote_page; ///< a page that is mapped in system memory
    double look;        ///< asking which pages of a block were used
    double access;      ///< a load or store, wherever its memory is
    double local_line;  ///< a line of memory that a step uses, in device memory
    double remote_line; ///< likewise, in system memory
};

/// Returns all price sets, the default first.
std::span<const prices> price_sets();
/// Returns nullptr if there is no set of that name.
const prices* find_prices(std::string_view name);

} // namespace replay
