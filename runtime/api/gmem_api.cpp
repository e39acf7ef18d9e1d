// SPDX-License-Identifier: MIT
// The GMEM interface.
#include "hmm/gmem.h"

#include "api/location.hpp"
#include "api/memory_work.hpp"
#include "base/failure.hpp"
#include "sys/syscalls.hpp"

#include <cerrno>

namespace hmmrt {
namespace {

int errno_of(hmmError_t code) {
    switch (code) {
    case hmmErrorInvalidValue:
    case hmmErrorInvalidDevice:
    case hmmErrorInvalidResourceHandle:
        return EINVAL;
    case hmmErrorMemoryAllocation:
        return ENOMEM;
    case hmmErrorNotSupported:
        return ENOTSUP;
    case hmmErrorNotPermitted:
        return EPERM;
    case hmmErrorNoDevice:
    case hmmErrorDevicesUnavailable:
    case hmmErrorInsufficientDriver:
    case hmmErrorInitializationError:
    case hmmErrorForkedProcess:
        return ENODEV;
    default:
        return EIO;
    }
}

/// Runs @body(number). If it throws, it may have set @number to the errno to
/// report. Returns 0 or -1.
template <class Body>
int gmem_call(const char* name, Body body) noexcept {
    int number = 0;
    const hmmError_t code = guarded(name, [&] { body(number); });
    if (code == hmmSuccess) return 0;
    errno = number != 0 ? number : errno_of(code);
    return -1;
}

constexpr int first_device = gmemHnidOfDevice(0);
static_assert(first_device == HMMRT_LOCATION_MAX_NODE + 1);

hmmMemLocation location_of(int hnid) {
    if (hnid < 0) throw failure(hmmErrorInvalidValue, "invalid hnid");
    if (hnid < first_device) return {hmmMemLocationTypeHostNuma, hnid};
    return {hmmMemLocationTypeDevice, process::get().device_at(hnid - first_device).number()};
}

const void* pointer_to(unsigned long addr) {
    return reinterpret_cast<const void*>(addr);
}

void prefetch_now(unsigned long addr, std::size_t bytes, int hnid, int& number) {
    const hmmMemLocation where = location_of(hnid);
    if (bytes == 0) return;
    const page_range pages = pages_around(pointer_to(addr), bytes);
    hmmrt_prefetch request = {};
    request.addr = pages.addr;
    request.len = pages.len;
    request.location = location_id(where);
    const int error = process::get().where().prefetch(request);
    if (error == -EFAULT) number = ENOMEM;
    if (error == -ENODEV) number = ENODEV;
    check_memory_call("prefetch", error);
}

void queue_prefetch(unsigned long addr, std::size_t bytes, int hnid, hmmStream_t stream) {
    const hmmMemLocation where = location_of(hnid);
    stream_user in(stream);
    if (bytes == 0) return;
    launch_prefetch(in, prefetch_of(pointer_to(addr), bytes, location_id(where, &in.get_device())));
}

void free_now(unsigned long addr, std::size_t bytes, int& number) {
    if (bytes == 0) return;
    const page_range pages = pages_inside(pointer_to(addr), bytes);
    if (pages.len == 0) return;
    const int error = sys::advise(pages.addr, pages.len, MADV_DONTNEED);
    if (error == 0) return;
    if (error == -ENOMEM) number = ENOMEM;
    throw_discard_error(-error);
}

void queue_free(unsigned long addr, std::size_t bytes, hmmStream_t stream) {
    stream_user in(stream);
    if (bytes == 0) return;
    const work_request work = discard_of(pointer_to(addr), bytes);
    if (work.discard.len > 0) in.launch(work);
}

void advise(int hnid, unsigned long addr, std::size_t bytes, int behavior, int& number) {
    switch (behavior) {
    case MADV_PREFETCH:
        return prefetch_now(addr, bytes, hnid, number);
    case MADV_EAGERFREE:
        if (hnid != -1) location_of(hnid);
        return free_now(addr, bytes, number);
    default:
        throw failure(hmmErrorInvalidValue, "unknown behavior");
    }
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

int hmadvise(int hnid, unsigned long start, size_t len, int behavior) {
    return gmem_call("hmadvise", [&](int& number) { advise(hnid, start, len, behavior, number); });
}

int gmemPrefetch(unsigned long addr, size_t size, int hnid, void* stream) {
    return gmem_call("gmemPrefetch", [&](int& number) {
        if (stream == nullptr) return prefetch_now(addr, size, hnid, number);
        queue_prefetch(addr, size, hnid, static_cast<hmmStream_t>(stream));
    });
}

int gmemFreeEager(unsigned long addr, size_t size, void* stream) {
    return gmem_call("gmemFreeEager", [&](int& number) {
        if (stream == nullptr) return free_now(addr, size, number);
        queue_free(addr, size, static_cast<hmmStream_t>(stream));
    });
}

int gmemGetNumaId(void) {
    int hnid = -1;
    const int result = gmem_call("gmemGetNumaId",
                                 [&](int&) { hnid = gmemHnidOfDevice(current_device().number()); });
    return result == 0 ? hnid : result;
}
