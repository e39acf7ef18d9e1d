// SPDX-License-Identifier: MIT
// Rules that find calls of the runtime which would have avoided faults. docs/hmmctl.md explains
// them.
//
// A rule looks at one block. We merge adjacent blocks with the same result into one piece of
// advice, so that it covers a whole range of any size.
#pragma once

#include "block_activity.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace hmmctl {

/// A call that saves fewer faults isn't worth a line in a program.
constexpr std::uint64_t least_saved_faults = 8;
/// Two round trips. Fewer turns are normal for a result that is written once and read once.
constexpr std::uint64_t least_turns = 4;
/// If pages moved to devices twice on average, they came back in between.
constexpr std::uint64_t least_moves_of_a_page = 2;
/// The device is too small for a block that faulted this often after an eviction.
constexpr std::uint64_t least_returns = 2;
/// Minimum share of faults that are in runs of rising addresses.
constexpr double sequential_share = 0.75;
/// Minimum share of the faults' time that isn't spent on copying, which a prefetch would save.
constexpr double latency_share = 0.75;
/// Minimum share of pages used between the first and the last used one. Prefetching a sparsely
/// used range costs more than it saves.
constexpr double dense_share = 0.5;
/// The CPU uses few pages if it faults on at most this share of the device's pages.
constexpr double few_pages_share = 0.125;
/// Maximum number of pieces of advice that are listed.
constexpr std::size_t most_advice = 10;

enum class advice_kind {
    read_by_several,   ///< processors take pages from each other, but only to read them
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
    /// The instructions with the most device faults and the most CPU faults, 0 if unknown.
    std::uint64_t ip = 0, cpu_ip = 0;
    call_to_make call;
    std::optional<call_to_make> other; ///< an alternative
};

/// Sizes of device memory by device id. Devices of unknown size are missing.
using memory_sizes = std::map<std::uint32_t, std::uint64_t>;

/// Returns all advice, sorted by saved faults, the largest number first.
std::vector<advice> advice_for(const activity::blocks& blocks, const memory_sizes& memory);

} // namespace hmmctl
