// SPDX-License-Identifier: MIT
// The C interface: advice.
#include "api/interface.hpp"
#include "api/location.hpp"
#include "base/failure.hpp"
#include "base/memory_range.hpp"

namespace hmmrt {
namespace {

struct advice_kind {
    std::uint32_t kernel; ///< enum hmmrt_advice_kind
    bool has_location;
};

advice_kind kind_of(hmmMemoryAdvise advice) {
    switch (advice) {
    case hmmMemAdviseSetReadMostly:
        return {HMMRT_ADVICE_SET_READ_MOSTLY, false};
    case hmmMemAdviseUnsetReadMostly:
        return {HMMRT_ADVICE_UNSET_READ_MOSTLY, false};
    case hmmMemAdviseSetPreferredLocation:
        return {HMMRT_ADVICE_SET_PREFERRED_LOCATION, true};
    case hmmMemAdviseUnsetPreferredLocation:
        return {HMMRT_ADVICE_UNSET_PREFERRED_LOCATION, false};
    case hmmMemAdviseSetAccessedBy:
        return {HMMRT_ADVICE_SET_ACCESSED_BY, true};
    case hmmMemAdviseUnsetAccessedBy:
        return {HMMRT_ADVICE_UNSET_ACCESSED_BY, true};
    case hmmMemAdviseSetNoMigrate:
        return {HMMRT_ADVICE_SET_NO_MIGRATE, false};
    case hmmMemAdviseUnsetNoMigrate:
        return {HMMRT_ADVICE_UNSET_NO_MIGRATE, false};
    }
    throw failure(hmmErrorInvalidValue, "unknown advice");
}

bool is_accessed_by(hmmMemoryAdvise advice) {
    return advice == hmmMemAdviseSetAccessedBy || advice == hmmMemAdviseUnsetAccessedBy;
}

/// Throws failure.
advice_work advice_of(const void* ptr, std::size_t bytes, hmmMemoryAdvise advice,
                      const hmmMemLocation& location, const device* started) {
    const advice_kind kind = kind_of(advice);
    const page_range pages = pages_around(ptr, bytes);
    require(!is_accessed_by(advice) || location.type == hmmMemLocationTypeDevice ||
                location.type == hmmMemLocationTypeHost,
            "AccessedBy needs a device or the host as its location");
    return {pages.addr, pages.len, 0, kind.kernel,
            kind.has_location ? location_id(location, started) : 0};
}

void advise_now(const advice_work& work) {
    hmmrt_advise request = {};
    request.addr = work.addr;
    request.len = work.len;
    request.advice = work.advice;
    request.location = work.location;
    request.value = work.value;
    check_memory_call("advice", process::get().where().advise(request));
}

bool is_granularity(std::size_t bytes) {
    return bytes >= page_size && (bytes & (bytes - 1)) == 0 &&
           bytes <= process::get().where().info().out_block_size;
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmMemAdvise(const void* ptr, size_t bytes, hmmMemoryAdvise advice,
                        hmmMemLocation location) {
    return guarded("hmmMemAdvise",
                   [&] { advise_now(advice_of(ptr, bytes, advice, location, nullptr)); });
}

hmmError_t hmmMemAdviseAsync(const void* ptr, size_t bytes, hmmMemoryAdvise advice,
                             hmmMemLocation location, hmmStream_t stream) {
    return guarded("hmmMemAdviseAsync", [&] {
        stream_user where(stream);
        work_request request;
        request.kind = entry_kind::advice;
        request.advice = advice_of(ptr, bytes, advice, location, &where.get_device());
        where.launch(request);
    });
}

hmmError_t hmmMemSetGranularity(const void* ptr, size_t bytes, size_t granularity) {
    return guarded("hmmMemSetGranularity", [&] {
        const page_range pages = pages_around(ptr, bytes);
        require(granularity == 0 || is_granularity(granularity),
                "the granularity is not a power of two between the page size and the block size");
        const std::uint32_t kind =
            granularity != 0 ? HMMRT_ADVICE_SET_GRANULARITY : HMMRT_ADVICE_UNSET_GRANULARITY;
        advise_now({pages.addr, pages.len, granularity, kind, 0});
    });
}
