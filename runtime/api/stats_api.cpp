// SPDX-License-Identifier: MIT
// The C interface: statistics.
#include "api/interface.hpp"
#include "base/failure.hpp"
#include "session/session.hpp"

#include <cerrno>

namespace hmmrt {
namespace {

hmmStats stats_of(const hmmrt_stats& counted) {
    static_assert(sizeof(hmmStats) == 256);
    hmmStats stats = {};
    stats.deviceFaults = counted.out_device_faults;
    stats.failedFaults = counted.out_failed_faults;
    stats.cpuFaults = counted.out_cpu_faults;
    stats.pagesToDevice = counted.out_migrated_to_device;
    stats.pagesToHost = counted.out_migrated_to_host;
    stats.pagesEvicted = counted.out_evicted_pages;
    stats.evictions = counted.out_evictions;
    stats.duplicates = counted.out_copied_pages;
    stats.pagesMapped = counted.out_mapped_pages;
    stats.pagesRemote = counted.out_remote_pages;
    stats.countedMoves = counted.out_counted_moves;
    stats.invalidations = counted.out_invalidations;
    stats.retries = counted.out_retries;
    stats.thrashing = counted.out_thrashing_blocks;
    stats.throttledFaults = counted.out_throttled_faults;
    stats.thrashPins = counted.out_thrash_pins;
    stats.quotaRefusals = counted.out_quota_refusals;
    stats.memoryRefusals = counted.out_memory_refusals;
    return stats;
}

hmmStats get_stats(device& of) {
    const auto running = of.running();
    if (!running) return {};
    hmmrt_stats request = {};
    request.device_id = of.id();
    const int error = process::get().where().get_stats(request);
    // a reset in another thread ended the binding
    if (error == -ENODEV) return {};
    check_memory_call("statistics", error);
    hmmStats stats = stats_of(request);
    stats.launches = running->launches();
    return stats;
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmGetStats(hmmStats* stats) {
    return guarded("hmmGetStats", [&] {
        require(stats != nullptr, "stats is NULL");
        *stats = get_stats(current_device());
    });
}
