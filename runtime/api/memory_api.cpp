// SPDX-License-Identifier: MIT
// The C interface: contiguous copies and fills.
#include "api/copy_order.hpp"
#include "base/memory_range.hpp"
#include "memory/virtual_memory.hpp"

#include <initializer_list>

namespace hmmrt {
namespace {

void check_memory(const void* memory, std::size_t bytes) {
    require(memory != nullptr, "memory is NULL");
    pages_around(memory, bytes);
}

/// Checks the access of the stream's device, on which the copy runs.
void check_reach(stream_user& where, const void* memory, std::size_t bytes, std::uint32_t access) {
    if (bytes == 0 || process::get().where().shares_page_tables()) return;
    const address_range range = {reinterpret_cast<std::uint64_t>(memory), bytes};
    if (!process::get().reserved().permits(range, where.get_device().id(), access))
        throw failure(
            hmmErrorNotSupported,
            "the stream's device has no access to a mapped memory object; see hmmMemSetAccess()");
}

/// Copies in the order that the kind and the memory require. If @waits, the
/// caller waits for the stream itself.
void copy(void* to, const void* from, std::size_t bytes, hmmMemcpyKind kind, stream_user& where,
          bool waits = false) {
    if (kind < hmmMemcpyHostToHost || kind > hmmMemcpyDefault)
        throw failure(hmmErrorInvalidMemcpyDirection,
                      hmmGetErrorString(hmmErrorInvalidMemcpyDirection));
    if (bytes == 0) return;
    check_memory(to, bytes);
    check_memory(from, bytes);
    copy_start start;
    if (!waits) start = start_of(kind, {to, bytes}, {from, bytes}, bytes);
    launch_copy(where, copy_closure::items(bytes), copy_closure::run,
                copy_closure::copy(to, from, bytes, std::move(start.staged)), start.wait);
}

void copy_between_devices(void* to, int to_device, const void* from, int from_device,
                          std::size_t bytes, stream_user& where, bool waits = false) {
    process::get().device_at(to_device);
    process::get().device_at(from_device);
    check_reach(where, from, bytes, HMMRT_ACCESS_READ);
    check_reach(where, to, bytes, HMMRT_ACCESS_READ | HMMRT_ACCESS_WRITE);
    copy(to, from, bytes, hmmMemcpyDefault, where, waits);
}

void fill(void* to, int value, std::size_t bytes, stream_user& where) {
    if (bytes == 0) return;
    check_memory(to, bytes);
    launch_copy(where, copy_closure::items(bytes), copy_closure::run,
                copy_closure::fill(to, value, bytes), false);
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmMemcpyAsync(void* to, const void* from, size_t bytes, hmmMemcpyKind kind,
                          hmmStream_t stream) {
    return guarded("hmmMemcpyAsync", [&] {
        stream_user where(stream);
        copy(to, from, bytes, kind, where);
    });
}

hmmError_t hmmMemcpy(void* to, const void* from, size_t bytes, hmmMemcpyKind kind) {
    return guarded("hmmMemcpy", [&] {
        stream_user where(hmmStreamLegacy);
        copy(to, from, bytes, kind, where, true);
        where.get_device().synchronize(where.get());
    });
}

hmmError_t hmmMemsetAsync(void* to, int value, size_t bytes, hmmStream_t stream) {
    return guarded("hmmMemsetAsync", [&] {
        stream_user where(stream);
        fill(to, value, bytes, where);
    });
}

hmmError_t hmmMemset(void* to, int value, size_t bytes) {
    return guarded("hmmMemset", [&] {
        stream_user where(hmmStreamLegacy);
        fill(to, value, bytes, where);
        where.get_device().synchronize(where.get());
    });
}

hmmError_t hmmMemcpyPeerAsync(void* to, int toDevice, const void* from, int fromDevice,
                              size_t bytes, hmmStream_t stream) {
    return guarded("hmmMemcpyPeerAsync", [&] {
        stream_user where(stream);
        copy_between_devices(to, toDevice, from, fromDevice, bytes, where);
    });
}

hmmError_t hmmMemcpyPeer(void* to, int toDevice, const void* from, int fromDevice, size_t bytes) {
    return guarded("hmmMemcpyPeer", [&] {
        stream_user where(hmmStreamLegacy);
        for (const int number : {toDevice, fromDevice}) {
            device& other = process::get().device_at(number);
            if (&other != &where.get_device()) other.synchronize(nullptr);
        }
        copy_between_devices(to, toDevice, from, fromDevice, bytes, where, true);
        where.get_device().synchronize(where.get());
    });
}
