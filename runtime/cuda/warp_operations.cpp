// SPDX-License-Identifier: MIT
#include "warp_operations.hpp"

namespace hmmcuda {
namespace {

bool has(std::uint32_t lanes, std::uint32_t lane) {
    return (lanes >> lane & 1) != 0;
}

std::uint64_t ballot(const block_run& run, std::uint32_t lanes) {
    std::uint32_t found = 0;
    for (std::uint32_t lane = 0; lane < warp_size; lane++)
        if (has(lanes, lane) && run.given[lane] != 0) found |= 1u << lane;
    return found;
}

std::uint64_t match(const block_run& run, std::uint32_t lanes, std::uint64_t value) {
    std::uint32_t found = 0;
    for (std::uint32_t lane = 0; lane < warp_size; lane++)
        if (has(lanes, lane) && run.given[lane] == value) found |= 1u << lane;
    return found;
}

/// Threads load each other's values from here, while others may still be waiting with the values
/// they stored.
template <class T>
void exchange(block_run& run, std::uint32_t lane) {
    constexpr std::size_t part = sizeof(T) == sizeof(std::uint32_t) ? to_narrow : 0;
    reinterpret_cast<T*>(run.taken_place + part)[lane] =
        reinterpret_cast<const T*>(run.given_place + part)[lane];
}

std::uint32_t first_lanes(std::uint32_t count) {
    return count >= warp_size ? ~0u : (1u << count) - 1;
}

} // namespace

void operate(block_run& run, sync_kind kind, std::uint32_t lanes) noexcept {
    const std::uint64_t conditions = kind == sync_kind::warp_ballot ? ballot(run, lanes) : 0;
    for (std::uint32_t lane = 0; lane < warp_size; lane++) {
        if (!has(lanes, lane)) continue;
        switch (kind) {
        case sync_kind::warp_exchange:
            exchange<std::uint64_t>(run, lane);
            break;
        case sync_kind::warp_exchange32:
            exchange<std::uint32_t>(run, lane);
            break;
        case sync_kind::warp_ballot:
            run.got[lane] = conditions & run.mask[lane];
            break;
        case sync_kind::warp_match:
            run.got[lane] = match(run, lanes & run.mask[lane], run.given[lane]);
            break;
        case sync_kind::warp_active:
            run.got[lane] = lanes;
            break;
        default:
            break;
        }
    }
}

} // namespace hmmcuda

using hmmcuda::block_run;
using hmmcuda::sync_kind;

// hmmcc's passes create calls to these where all threads of a warp are at the operation.
extern "C" {

void __hmm_together_ballot(block_run* run, std::uint32_t threads) {
    hmmcuda::operate(*run, sync_kind::warp_ballot, hmmcuda::first_lanes(threads));
}

void __hmm_together_match(block_run* run, std::uint32_t threads) {
    hmmcuda::operate(*run, sync_kind::warp_match, hmmcuda::first_lanes(threads));
}

void __hmm_together_active(block_run* run, std::uint32_t threads) {
    hmmcuda::operate(*run, sync_kind::warp_active, hmmcuda::first_lanes(threads));
}

} // extern "C"
