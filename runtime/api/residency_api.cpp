// SPDX-License-Identifier: MIT
// The C interface: residency.
#include "api/interface.hpp"
#include "api/location.hpp"
#include "base/failure.hpp"
#include "base/memory_range.hpp"

#include <algorithm>
#include <memory_resource>
#include <vector>

namespace hmmrt {
namespace {

constexpr std::size_t pages_at_once = 4096;

hmmPageState state_of(const hmmrt_page& page, const device_numbers& numbers) {
    static_assert(hmmPageZeroes == HMMRT_PAGE_ZEROES && hmmPageDirty == HMMRT_PAGE_DIRTY);
    static_assert(static_cast<int>(hmmMoveCauseUnbind) == HMMRT_CAUSE_UNBIND);
    static_assert(static_cast<int>(hmmMoveCauseEviction) == HMMRT_CAUSE_EVICTION);
    static_assert(static_cast<int>(hmmMoveCauseAccessCounter) == HMMRT_CAUSE_ACCESS_COUNTER);
    hmmPageState state = {};
    state.location = numbers.number_of(page.location);
    state.flags = page.flags;
    state.mappedBy = numbers.mask(page.mapped_by);
    state.writtenBy = numbers.mask(page.written_by);
    state.duplicates = numbers.mask(page.duplicates);
    state.cause = static_cast<hmmMoveCause>(page.cause);
    state.time = page.time;
    return state;
}

void get_states(const page_range& range, hmmPageState* states) {
    const device_numbers numbers;
    machine& where = process::get().where();
    const std::size_t count = range.pages();
    std::pmr::vector<hmmrt_page> pages(std::min(count, pages_at_once), own_pool());
    for (std::size_t done = 0; done < count;) {
        const std::size_t part = std::min(count - done, pages.size());
        hmmrt_pages request = {};
        request.addr = range.addr + done * page_size;
        request.len = part * page_size;
        request.pages = reinterpret_cast<std::uint64_t>(pages.data());
        check_memory_call("residency", where.get_pages(request));
        for (std::size_t i = 0; i < part; i++)
            states[done++] = state_of(pages[i], numbers);
    }
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmMemGetResidency(const void* ptr, size_t bytes, hmmPageState* states, size_t count) {
    return guarded("hmmMemGetResidency", [&] {
        const page_range range = pages_around(ptr, bytes);
        require(states != nullptr, "states is NULL");
        require(count >= range.pages(), "fewer states than pages");
        get_states(range, states);
    });
}
