// SPDX-License-Identifier: MIT
// The C interface: where memory is, copies, memory to use.
#include "copy.hpp"
#include "interface.hpp"

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace hmmrt {
namespace {

/// Where the pages that hold the range end. Throws failure.
std::uint64_t pages_end(std::uint64_t begin, std::size_t bytes) {
    require(begin + bytes > begin && begin + bytes <= user_space_end,
            "the range leaves the address space");
    return (begin + bytes + page_size - 1) & ~(page_size - 1);
}

/// Starts the device that is named, if it is not @home.
std::uint32_t location_id(const hmmMemLocation& location, const device& home) {
    if (location.type != hmmMemLocationTypeDevice) {
        require(location.type == hmmMemLocationTypeHost, "unknown type of location");
        return HMMRT_LOCATION_HOST;
    }
    device& target = process::get().device_at(location.id);
    if (&target != &home) target.start();
    return target.id();
}

prefetch_work prefetch_of(const void* ptr, std::size_t bytes, std::uint32_t location) {
    const auto begin = reinterpret_cast<std::uint64_t>(ptr);
    prefetch_work work = {};
    require(bytes > 0, "0 bytes");
    work.addr = begin & ~(page_size - 1);
    work.len = pages_end(begin, bytes) - work.addr;
    work.location = location;
    return work;
}

void launch_prefetch(const stream_user& where, const prefetch_work& work) {
    work_request request;
    request.kind = entry_kind::prefetch;
    request.prefetch = work;
    where.home().launch(request, where.get());
}

struct batch {
    std::span<const void* const> ptrs;
    std::span<const std::size_t> sizes;
    std::span<const hmmMemLocation> locations;
    std::span<const std::size_t> first; ///< range of each location
};

/// What each range's location is. Throws failure.
void check_batch(const batch& all) {
    require(all.first.front() == 0, "the first location is not that of the first range");
    for (std::size_t i = 1; i < all.first.size(); i++)
        require(all.first[i] > all.first[i - 1] && all.first[i] < all.ptrs.size(),
                "locations are not in the order of their ranges");
}

/// All of it, or nothing if an argument is wrong.
void prefetch_batch(const batch& all, hmmStream_t stream) {
    check_batch(all);
    const stream_user where(stream);
    std::pmr::vector<prefetch_work> work(own_pool());
    work.reserve(all.ptrs.size());
    for (std::size_t i = 0, location = 0; i < all.ptrs.size(); i++) {
        while (location + 1 < all.first.size() && all.first[location + 1] <= i)
            location++;
        work.push_back(prefetch_of(all.ptrs[i], all.sizes[i],
                                   location_id(all.locations[location], where.home())));
    }
    for (const prefetch_work& each : work)
        launch_prefetch(where, each);
}

void check_memory(const void* memory, std::size_t bytes) {
    require(memory != nullptr, "memory is NULL");
    pages_end(reinterpret_cast<std::uint64_t>(memory), bytes);
}

void launch_copy(const stream_user& where, std::size_t bytes, copy_closure::pointer closure) {
    work_request request;
    request.kind = entry_kind::serial;
    request.items = copy_closure::items(bytes);
    request.function = copy_closure::run;
    request.destroy = copy_closure::destroy;
    request.closure = closure.get();
    where.home().launch(request, where.get());
    static_cast<void>(closure.release()); // the launch has it now
}

void copy(void* to, const void* from, std::size_t bytes, hmmMemcpyKind kind,
          const stream_user& where) {
    if (kind < hmmMemcpyHostToHost || kind > hmmMemcpyDefault)
        throw failure(hmmErrorInvalidMemcpyDirection,
                      hmmGetErrorString(hmmErrorInvalidMemcpyDirection));
    if (bytes == 0) return;
    check_memory(to, bytes);
    check_memory(from, bytes);
    launch_copy(where, bytes, copy_closure::copy(to, from, bytes));
}

void fill(void* to, int value, std::size_t bytes, const stream_user& where) {
    if (bytes == 0) return;
    check_memory(to, bytes);
    launch_copy(where, bytes, copy_closure::fill(to, value, bytes));
}

/// No device uses it afterwards, whatever became of its work.
void free_managed(void* memory) {
    std::size_t bytes = 0;
    require(process::get().managed().forget(memory, bytes),
            "no memory of hmmMallocManaged(), or freed already");
    struct releaser {
        void* memory;
        std::size_t bytes;
        ~releaser() { managed_memory::release(memory, bytes); }
    } const release{memory, bytes};
    process::get().synchronize();
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmMemPrefetchAsync(const void* ptr, size_t bytes, hmmMemLocation location,
                               unsigned int flags, hmmStream_t stream) {
    return guarded("hmmMemPrefetchAsync", [&] {
        require(flags == 0, "flags are not 0");
        const stream_user where(stream);
        launch_prefetch(where, prefetch_of(ptr, bytes, location_id(location, where.home())));
    });
}

hmmError_t hmmMemPrefetchBatchAsync(const void* const* ptrs, const size_t* sizes, size_t count,
                                    const hmmMemLocation* locations, const size_t* firsts,
                                    size_t locationCount, unsigned long long flags,
                                    hmmStream_t stream) {
    return guarded("hmmMemPrefetchBatchAsync", [&] {
        require(flags == 0, "flags are not 0");
        require(count > 0 && locationCount > 0, "no range, or no location");
        require(locationCount <= count, "more locations than ranges");
        require(ptrs != nullptr && sizes != nullptr && locations != nullptr && firsts != nullptr,
                "an array is NULL");
        prefetch_batch(
            {{ptrs, count}, {sizes, count}, {locations, locationCount}, {firsts, locationCount}},
            stream);
    });
}

hmmError_t hmmMemcpyAsync(void* to, const void* from, size_t bytes, hmmMemcpyKind kind,
                          hmmStream_t stream) {
    return guarded("hmmMemcpyAsync", [&] { copy(to, from, bytes, kind, stream_user(stream)); });
}

hmmError_t hmmMemcpy(void* to, const void* from, size_t bytes, hmmMemcpyKind kind) {
    return guarded("hmmMemcpy", [&] {
        const stream_user where(hmmStreamLegacy);
        copy(to, from, bytes, kind, where);
        where.home().synchronize(where.get());
    });
}

hmmError_t hmmMemsetAsync(void* to, int value, size_t bytes, hmmStream_t stream) {
    return guarded("hmmMemsetAsync", [&] { fill(to, value, bytes, stream_user(stream)); });
}

hmmError_t hmmMemset(void* to, int value, size_t bytes) {
    return guarded("hmmMemset", [&] {
        const stream_user where(hmmStreamLegacy);
        fill(to, value, bytes, where);
        where.home().synchronize(where.get());
    });
}

hmmError_t hmmMallocManaged(void** memory, size_t bytes, unsigned int flags) {
    return guarded("hmmMallocManaged", [&] {
        require(memory != nullptr, "memory is NULL");
        require(bytes > 0, "0 bytes");
        require(flags == hmmMemAttachGlobal || flags == hmmMemAttachHost, "unknown flags");
        process::get().devices(); // without one it fails here, not when it is freed
        *memory = process::get().managed().allocate(bytes);
    });
}

hmmError_t hmmFree(void* memory) {
    return guarded("hmmFree", [&] {
        if (memory != nullptr) free_managed(memory);
    });
}
