// SPDX-License-Identifier: MIT
// The C interface: prefetch and discard.
#include "api/location.hpp"
#include "api/memory_work.hpp"
#include "base/failure.hpp"

#include <algorithm>
#include <memory_resource>
#include <span>
#include <vector>

namespace hmmrt {
namespace {

struct ranges {
    std::span<const void* const> ptrs;
    std::span<const std::size_t> sizes;
};

/// The destinations of the ranges of a batch.
struct destinations {
    std::span<const hmmMemLocation> locations;
    std::span<const std::size_t> first; ///< first range of each location
};

ranges ranges_of(const void* const* ptrs, const std::size_t* sizes, std::size_t count) {
    require(count > 0, "count is 0");
    require(ptrs != nullptr && sizes != nullptr, "an array is NULL");
    return {{ptrs, count}, {sizes, count}};
}

destinations destinations_of(const hmmMemLocation* locations, const std::size_t* firsts,
                             std::size_t count, const ranges& all) {
    require(count > 0, "locationCount is 0");
    require(count <= all.ptrs.size(), "more locations than ranges");
    require(locations != nullptr && firsts != nullptr, "an array is NULL");
    const destinations result = {{locations, count}, {firsts, count}};
    require(result.first.front() == 0, "firsts[0] is not 0");
    for (std::size_t i = 1; i < count; i++)
        require(firsts[i] > firsts[i - 1] && firsts[i] < all.ptrs.size(),
                "firsts is not strictly increasing, or has an index beyond the last range");
    return result;
}

using work_list = std::pmr::vector<work_request>;

void add_discard(work_list& work, const ranges& all, std::size_t i) {
    const work_request discard = discard_of(all.ptrs[i], all.sizes[i]);
    if (discard.discard.len > 0) work.push_back(discard);
}

/// Queues all ranges, or none if an argument is invalid.
void queue_prefetches(const ranges& all, const destinations& to, bool discard, hmmStream_t stream) {
    stream_user where(stream);
    work_list work(own_pool());
    for (std::size_t i = 0, at = 0; i < all.ptrs.size(); i++) {
        while (at + 1 < to.first.size() && to.first[at + 1] <= i)
            at++;
        if (discard) add_discard(work, all, i);
        work.push_back(prefetch_of(all.ptrs[i], all.sizes[i],
                                   location_id(to.locations[at], &where.get_device())));
    }
    for (const work_request& each : work) {
        if (each.kind == entry_kind::prefetch)
            launch_prefetch(where, each);
        else
            where.launch(each);
    }
}

void queue_discards(const ranges& all, hmmStream_t stream) {
    stream_user where(stream);
    work_list work(own_pool());
    for (std::size_t i = 0; i < all.ptrs.size(); i++)
        add_discard(work, all, i);
    for (const work_request& each : work)
        where.launch(each);
}

void fill_report(hmmPrefetchReport& report, const hmmrt_prefetch& done) {
    static_assert(static_cast<int>(hmmStayReasons) == HMMRT_STAY_REASONS);
    static_assert(static_cast<int>(hmmStayWatched) == HMMRT_STAY_WATCHED);
    static_assert(static_cast<int>(hmmStayQuota) == HMMRT_STAY_QUOTA);
    static_assert(hmmOutcomeMoved == HMMRT_OUTCOME_MOVED && hmmOutcomeThere == HMMRT_OUTCOME_THERE);
    static_assert(hmmOutcomeStayed(hmmStayPolicy) == HMMRT_OUTCOME_STAYED(HMMRT_STAY_POLICY));
    report = {};
    report.moved = done.out_pages_moved;
    report.there = done.out_pages_there;
    std::copy(std::begin(done.out_stayed), std::end(done.out_stayed), report.stayed);
}

void prefetch_now(const page_range& pages, std::uint32_t location, hmmPageOutcome* outcomes,
                  hmmPrefetchReport* report) {
    hmmrt_prefetch request = {};
    request.addr = pages.addr;
    request.len = pages.len;
    request.location = location;
    request.outcomes = reinterpret_cast<std::uint64_t>(outcomes);
    queued_prefetches::entries fresh(own_pool());
    fresh.push_back({{pages.addr, pages.addr + pages.len, location}, nullptr});
    check_memory_call("prefetch", process::get().where().prefetch(request));
    process::get().prefetches().add(fresh);
    if (report != nullptr) fill_report(*report, request);
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmMemPrefetchAsync(const void* ptr, size_t bytes, hmmMemLocation location,
                               unsigned int flags, hmmStream_t stream) {
    return guarded("hmmMemPrefetchAsync", [&] {
        require(flags == 0, "flags are not 0");
        stream_user where(stream);
        const std::uint32_t to = location_id(location, &where.get_device());
        launch_prefetch(where, prefetch_of(ptr, bytes, to));
    });
}

hmmError_t hmmMemPrefetchBatchAsync(void* const* ptrs, const size_t* sizes, size_t count,
                                    const hmmMemLocation* locations, const size_t* firsts,
                                    size_t locationCount, unsigned long long flags,
                                    hmmStream_t stream) {
    return guarded("hmmMemPrefetchBatchAsync", [&] {
        require(flags == 0, "flags are not 0");
        const ranges all = ranges_of(ptrs, sizes, count);
        queue_prefetches(all, destinations_of(locations, firsts, locationCount, all), false,
                         stream);
    });
}

hmmError_t hmmMemPrefetchWithReport(const void* ptr, size_t bytes, hmmMemLocation location,
                                    hmmPageOutcome* outcomes, size_t count,
                                    hmmPrefetchReport* report) {
    return guarded("hmmMemPrefetchWithReport", [&] {
        const page_range pages = pages_around(ptr, bytes);
        require(outcomes == nullptr || count >= pages.pages(), "fewer outcomes than pages");
        prefetch_now(pages, location_id(location), outcomes, report);
    });
}

hmmError_t hmmMemDiscardBatchAsync(void* const* ptrs, const size_t* sizes, size_t count,
                                   unsigned long long flags, hmmStream_t stream) {
    return guarded("hmmMemDiscardBatchAsync", [&] {
        require(flags == 0, "flags are not 0");
        queue_discards(ranges_of(ptrs, sizes, count), stream);
    });
}

hmmError_t hmmMemDiscardAndPrefetchBatchAsync(void* const* ptrs, const size_t* sizes, size_t count,
                                              const hmmMemLocation* locations, const size_t* firsts,
                                              size_t locationCount, unsigned long long flags,
                                              hmmStream_t stream) {
    return guarded("hmmMemDiscardAndPrefetchBatchAsync", [&] {
        require(flags == 0, "flags are not 0");
        const ranges all = ranges_of(ptrs, sizes, count);
        queue_prefetches(all, destinations_of(locations, firsts, locationCount, all), true, stream);
    });
}
