// SPDX-License-Identifier: MIT
// Rules that say which call of the runtime would have saved faults. docs/hmmctl.md explains them.
//
// A rule looks at one block. Neighbours with the same result are one piece of advice, so that a
// range of any size is advised as a whole.
#pragma once

#include "block_activity.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace hmmctl {

/// A call that saves fewer faults is not worth a line in a program.
constexpr std::uint64_t least_saved_faults = 8;
/// Two round trips: less than that is a result that is written once and read once.
constexpr std::uint64_t least_turns = 4;
/// A page that moved to devices twice on the average has come back.
constexpr std::uint64_t least_moves_of_a_page = 2;
/// Faults after evictions of one block, from which on the device is too small for it.
constexpr std::uint64_t least_returns = 2;
/// Share of faults that a run of rising addresses has to have.
constexpr double sequential_share = 0.75;
/// Share of the time of faults that is not spent on copying, and that a prefetch saves.
constexpr double latency_share = 0.75;
/// Share of the pages between the first and the last one that moved. A prefetch of a range that is
/// used in few places moves more than it saves.
constexpr double dense_share = 0.5;
/// The CPU uses few of the pages, if it faults on at most this share of those of the device.
constexpr double few_pages_share = 0.125;
/// How many pieces of advice are listed.
constexpr std::size_t most_advice = 10;

enum class advice_kind {
    read_by_several,   ///< processors take pages from each other only to read them
    ping_pong,         ///< processors take pages from each other
    oversubscription,  ///< evicted and fetched again
    sequential_faults, ///< fault after fault, in the order of addresses
    fault_latency,     ///< faults that wait longer than they copy
};

enum class advised_call { read_mostly, preferred_location, accessed_by, prefetch };

/// A call and its location: a device id, or HMMRT_LOCATION_HOST.
struct call_to_make {
    advised_call call = advised_call::prefetch;
    std::uint32_t location = HMMRT_LOCATION_HOST;
    bool operator==(const call_to_make&) const = default;
    friend bool operator<(const call_to_make& a, const call_to_make& b) {
        return std::tie(a.call, a.location) < std::tie(b.call, b.location);
    }
};

struct advice {
    advice_kind kind = advice_kind::ping_pong;
    std::uint64_t space = 0, addr = 0, bytes = 0; ///< from the first to the last page that was used
    /// Served faults there by processor: a device id, or HMMRT_LOCATION_HOST.
    std::map<std::uint32_t, std::uint64_t> faults;
    std::uint64_t saved_faults = 0; ///< estimate
    /// The instructions with the most faults of devices and of the CPU, 0 if unknown.
    std::uint64_t ip = 0, cpu_ip = 0;
    call_to_make call;
    std::optional<call_to_make> other; ///< another call that helps instead
};

/// Sizes of device memory by id. A device that is missing has an unknown size.
using memory_sizes = std::map<std::uint32_t, std::uint64_t>;

/// Returns all advice, that which saves the most faults first.
std::vector<advice> advice_for(const activity::blocks& blocks, const memory_sizes& memory);

} // namespace hmmctl
