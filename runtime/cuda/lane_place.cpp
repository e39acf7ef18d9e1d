// SPDX-License-Identifier: MIT
#include "lane_place.hpp"

#include "block_place.hpp"
#include "device_code.hpp"
#include "hmm/hmm_runtime.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <pthread.h>

namespace hmmcuda {
namespace {

/// Lanes write their places to memory of this library, so that they can be read after the lane and
/// its stack have gone.
struct lane_entry {
    std::atomic<std::uint64_t> thread{0}; ///< 0: free
    lane_place place;
};

constexpr std::size_t most_lanes = 1024;
lane_entry entries[most_lanes];

/// Of lanes that find no entry.
[[gnu::tls_model("initial-exec")]] thread_local lane_place own;
[[gnu::tls_model("initial-exec")]] constinit thread_local lane_place* mine = nullptr;

lane_entry* find_entry(std::uint64_t thread) {
    const auto found = std::ranges::find_if(
        entries, [&](const lane_entry& each) { return each.thread.load() == thread; });
    return found == std::end(entries) ? nullptr : found;
}

/// A thread that has ended may have left the entry.
lane_place* claim_place() {
    const auto thread = static_cast<std::uint64_t>(pthread_self());
    if (lane_entry* const found = find_entry(thread)) return &found->place;
    for (lane_entry& each : entries) {
        std::uint64_t free = 0;
        if (each.thread.compare_exchange_strong(free, thread)) return &each.place;
    }
    return &own;
}

const char* name_of_access(int access) {
    switch (access) {
    case HMM_ACCESS_WRITE:
        return "write";
    case HMM_ACCESS_EXEC:
        return "execution";
    default:
        return "read";
    }
}

void write_line(const lane_place& place, const hmmFaultRecord& record) {
    block_run run = {};
    run.kernel = place.named;
    std::ranges::copy(place.index, run.index);
    std::fprintf(stderr, "hmmcuda: %s, thread (%u, %u, %u): %s of address 0x%llx\n",
                 place_of(run).c_str(), place.thread_index[0], place.thread_index[1],
                 place.thread_index[2], name_of_access(record.access),
                 static_cast<unsigned long long>(record.address));
}

} // namespace

void forget_thread() noexcept {
    if (mine != nullptr) std::atomic_ref(mine->named).store(nullptr, std::memory_order_relaxed);
}

void name_failed_thread() {
    hmmFaultRecord record = {};
    if (hmmGetLastErrorRecord(&record) != hmmSuccess || record.error == hmmSuccess) return;
    lane_entry* const found = record.thread != 0 ? find_entry(record.thread) : nullptr;
    if (found == nullptr) return;
    const std::atomic_ref named(found->place.named);
    if (named.load() == nullptr) return;
    const lane_place place = found->place;
    const bool first = named.exchange(nullptr) != nullptr;
    if (first && record.error == hmmErrorIllegalAddress) write_line(place, record);
}

} // namespace hmmcuda

using namespace hmmcuda;

// hmmcc's passes make calls of these.
extern "C" {

/// A lane begins a block, or goes on with it. @names_threads: each thread has its place before it
/// runs.
lane_place* __hmm_enter_block(const block_run* run, std::uint32_t names_threads) {
    if (mine == nullptr) mine = claim_place();
    mine->run = run;
    std::ranges::copy(run->index, mine->index);
    mine->named = names_threads != 0 ? run->kernel : nullptr;
    return mine;
}

/// The place of the thread that calls this.
const lane_place* __hmm_place() {
    return mine != nullptr ? mine : &own;
}

} // extern "C"
